#include "pam_latchkey.h"

#include <security/pam_ext.h>
#include <string.h>
#include <syslog.h>

#define EXPORTED __attribute__((visibility("default")))

// Seconds that a change of the password waits for the vaults' own.
enum { PATIENCE_OF_A_CHANGE = 30 };

// What the program says if a vault is not mounted yet.
static const char waits = 'w';

// Services that ask for a password to confirm a command. A user who has locked a vault does not open it by that, and
// sudo asks for the password of another user than the one it becomes.
static bool is_login(pam_handle_t *pamh) {
    static const char *const others[] = {"sudo", "sudo-i", "doas", "polkit-1"};
    const void *service = NULL;
    if (pam_get_item(pamh, PAM_SERVICE, &service) != PAM_SUCCESS || !service) return false;
    for (size_t index = 0; index < sizeof others / sizeof *others; index++)
        if (strcmp(service, others[index]) == 0) return false;
    return true;
}

// A password that a module before this one has asked for; false if there is none, or none that can be a passcode.
static bool typed(pam_handle_t *pamh, int item, struct iovec *passcode) {
    const void *text = NULL;
    if (pam_get_item(pamh, item, &text) != PAM_SUCCESS || !text) return false;
    size_t size = strnlen(text, LONGEST_PASSCODE + 1);
    if (size == 0 || size > LONGEST_PASSCODE) return false;
    *passcode = (struct iovec){.iov_base = (void *)text, .iov_len = size};
    return true;
}

EXPORTED int pam_sm_authenticate(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)flags;
    struct options options;
    struct iovec passcode;
    char answer[LONGEST_ANSWER];
    size_t size = sizeof answer;
    read_options(pamh, argc, argv, &options);
    forget_passcode(pamh);
    if (!is_login(pamh) || !typed(pamh, PAM_AUTHTOK, &passcode)) {
        if (options.debug) pam_syslog(pamh, LOG_DEBUG, "no passcode was typed for a login");
        return PAM_IGNORE;
    }
    const struct passwd *user = user_of(pamh, &options);
    if (!user) return PAM_IGNORE;
    enum outcome outcome = hand_over(pamh, &options, user, "unlock", &passcode, 1, options.timeout, answer, &size);
    if (outcome == GOES_ON)
        pam_syslog(pamh, LOG_WARNING, "the vaults of %s are not unlocked after %u seconds; the login goes on",
                   user->pw_name, options.timeout);
    if (options.debug && outcome == ENDED) pam_syslog(pamh, LOG_DEBUG, "the vaults of %s were asked", user->pw_name);
    if (outcome == ENDED && size > 0 && answer[0] == waits)
        keep_passcode(pamh, &options, user, passcode.iov_base, passcode.iov_len);
    return PAM_IGNORE;
}

EXPORTED int pam_sm_setcred(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_IGNORE;
}

EXPORTED int pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)flags;
    struct options options;
    struct iovec passcode;
    read_options(pamh, argc, argv, &options);
    const struct passwd *user = user_of(pamh, &options);
    // The user's manager mounts the vaults while the login goes on.
    if (user && kept_passcode(pamh, user, &passcode))
        hand_over(pamh, &options, user, "unlock-later", &passcode, 1, 0, NULL, NULL);
    forget_passcode(pamh);
    return PAM_IGNORE;
}

EXPORTED int pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    (void)pamh, (void)flags, (void)argc, (void)argv;
    return PAM_IGNORE;
}

// Shows the program's lines: each begins with '+' for what was done or '-' for what was not. Whether all was done.
static bool show(pam_handle_t *pamh, bool silent, char *answer, size_t size) {
    bool complete = size > 0;
    answer[size] = 0;
    char *place = NULL;
    for (char *line = strtok_r(answer, "\n", &place); line; line = strtok_r(NULL, "\n", &place)) {
        for (char *byte = line; *byte; byte++)
            if ((unsigned char)*byte < ' ' || *byte == 0x7f) *byte = '?';
        if (*line != '+') complete = false;
        if (*line == '+' && !silent) pam_info(pamh, "latchkey: %s", line + 1);
        if (*line == '-' && !silent) pam_error(pamh, "latchkey: %s", line + 1);
    }
    return complete;
}

EXPORTED int pam_sm_chauthtok(pam_handle_t *pamh, int flags, int argc, const char **argv) {
    struct options options;
    struct iovec kept, parts[3] = {[1] = {.iov_base = (void *)"", .iov_len = 1}};
    char answer[LONGEST_ANSWER + 1];
    size_t size = LONGEST_ANSWER;
    read_options(pamh, argc, argv, &options);
    if (!((unsigned)flags & PAM_UPDATE_AUTHTOK)) return PAM_IGNORE;
    const struct passwd *user = user_of(pamh, &options);
    if (!user) return PAM_IGNORE;
    if (!typed(pamh, PAM_OLDAUTHTOK, &parts[0]) || !typed(pamh, PAM_AUTHTOK, &parts[2])) {
        pam_syslog(pamh, LOG_INFO, "no vault of %s has got a new passcode: the old or the new password is not known",
                   user->pw_name);
        return PAM_IGNORE;
    }
    enum outcome outcome =
        hand_over(pamh, &options, user, "passwd", parts, 3, PATIENCE_OF_A_CHANGE, answer, &size);
    bool silent = (unsigned)flags & PAM_SILENT, complete = false;
    if (outcome != NOT_RUN) complete = show(pamh, silent, answer, size) && outcome == ENDED;
    // A login changes an expired password before it opens the session: the old one would be a wrong passcode there.
    if (kept_passcode(pamh, user, &kept)) {
        forget_passcode(pamh);
        if (complete) keep_passcode(pamh, &options, user, parts[2].iov_base, parts[2].iov_len);
    }
    if (outcome == GOES_ON && !silent)
        pam_error(pamh, "latchkey: after %d seconds not all vaults have the new passcode; latchkey passwd changes one",
                  PATIENCE_OF_A_CHANGE);
    return PAM_IGNORE;
}
