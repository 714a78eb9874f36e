#include "pam_latchkey.h"

#include <errno.h>
#include <security/pam_ext.h>
#include <security/pam_modutil.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#ifndef LATCHKEY_PROGRAM
#define LATCHKEY_PROGRAM "/usr/bin/latchkey"
#endif

enum { SHORTEST_TIMEOUT = 1, TIMEOUT = 5, LONGEST_TIMEOUT = 30 };

static const char *value_of(const char *word, const char *name) {
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 ? word + length : NULL;
}

void read_options(pam_handle_t *pamh, int count, const char **words, struct options *options) {
    *options = (struct options){.timeout = TIMEOUT, .program = LATCHKEY_PROGRAM};
    for (int index = 0; index < count; index++) {
        const char *value;
        if (strcmp(words[index], "debug") == 0) {
            options->debug = true;
        } else if ((value = value_of(words[index], "timeout="))) {
            char *end;
            errno = 0;
            unsigned long seconds = strtoul(value, &end, 10);
            if (errno || *value < '0' || *value > '9' || *end || seconds < SHORTEST_TIMEOUT ||
                seconds > LONGEST_TIMEOUT)
                pam_syslog(pamh, LOG_ERR, "timeout= takes %d to %d seconds, not \"%s\"; %d applies", SHORTEST_TIMEOUT,
                           LONGEST_TIMEOUT, value, TIMEOUT);
            else
                options->timeout = (unsigned)seconds;
        } else if ((value = value_of(words[index], "program="))) {
            if (*value == '/')
                options->program = value;
            else
                pam_syslog(pamh, LOG_ERR, "program= takes an absolute path, not \"%s\"; %s applies", value,
                           LATCHKEY_PROGRAM);
        } else {
            pam_syslog(pamh, LOG_ERR, "there is no option \"%s\"; it has no effect", words[index]);
        }
    }
}

const struct passwd *user_of(pam_handle_t *pamh, const struct options *options) {
    const void *name = NULL;
    // Not pam_get_user(3), which would ask.
    if (pam_get_item(pamh, PAM_USER, &name) != PAM_SUCCESS || !name || !*(const char *)name) return NULL;
    const struct passwd *user = pam_modutil_getpwnam(pamh, name);
    if (!user || !user->pw_dir || user->pw_dir[0] != '/') {
        if (options->debug) pam_syslog(pamh, LOG_DEBUG, "the user has no home");
        return NULL;
    }
    // A screen locker may run as its user, who can become no other.
    if (geteuid() != 0 && (geteuid() != user->pw_uid || getuid() != user->pw_uid)) {
        if (options->debug) pam_syslog(pamh, LOG_DEBUG, "user %u cannot become %s", geteuid(), user->pw_name);
        return NULL;
    }
    return user;
}
