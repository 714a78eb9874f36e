#include "pam_latchkey.h"

#include <errno.h>
#include <security/pam_ext.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>

struct kept {
    uid_t user;
    size_t size; // 0 in a child of the process that has kept it.
    char passcode[LONGEST_PASSCODE];
};

static const char name[] = "pam_latchkey_passcode";

static void wipe(pam_handle_t *pamh, void *data, int status) {
    (void)pamh, (void)status;
    if (!data) return;
    explicit_bzero(data, sizeof(struct kept));
    munmap(data, sizeof(struct kept));
}

void keep_passcode(pam_handle_t *pamh, const struct options *options, const struct passwd *user, const char *passcode,
                   size_t size) {
    forget_passcode(pamh);
    if (size > LONGEST_PASSCODE) return;
    struct kept *kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED) return;
    // Without all three it is not kept: then only a vault that is mounted already is unlocked.
    if (mlock(kept, sizeof *kept) != 0 || madvise(kept, sizeof *kept, MADV_DONTDUMP) != 0 ||
        madvise(kept, sizeof *kept, MADV_WIPEONFORK) != 0) {
        if (options->debug) pam_syslog(pamh, LOG_DEBUG, "cannot keep the passcode: %s", strerror(errno));
        munmap(kept, sizeof *kept);
        return;
    }
    kept->user = user->pw_uid;
    kept->size = size;
    memcpy(kept->passcode, passcode, size);
    if (pam_set_data(pamh, name, kept, wipe) != PAM_SUCCESS) wipe(pamh, kept, 0);
}

bool kept_passcode(pam_handle_t *pamh, const struct passwd *user, struct iovec *passcode) {
    const void *data = NULL;
    if (pam_get_data(pamh, name, &data) != PAM_SUCCESS || !data) return false;
    const struct kept *kept = data;
    // A program may change the user in between: sudo asks for one user's password and opens a session of another.
    if (kept->size == 0 || kept->user != user->pw_uid) return false;
    *passcode = (struct iovec){.iov_base = (void *)kept->passcode, .iov_len = kept->size};
    return true;
}

void forget_passcode(pam_handle_t *pamh) {
    const void *data = NULL;
    // The former value's clean-up wipes it.
    if (pam_get_data(pamh, name, &data) == PAM_SUCCESS && data) pam_set_data(pamh, name, NULL, NULL);
}
