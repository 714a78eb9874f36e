// pam_latchkey.so: hands the passcode that a user types at a login to the user's vaults. docs/man/pam_latchkey.8.
//
// The module reads no file of the user, knows no vault and keeps nobody out: it starts `latchkey ---login` as the user
// with the passcode in a pipe, waits a bounded time, and answers PAM_IGNORE.
#pragma once

#include <pwd.h>
#include <security/pam_modules.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

enum {
    LONGEST_PASSCODE = 1024, // In bytes, as docs/FORMAT.md says.
    LONGEST_ANSWER = 2048,
};

struct options {
    bool debug;
    unsigned timeout; // Seconds that a login waits at most.
    const char *program;
};

// Takes the words behind the module's name in a PAM file. A wrong one is logged, and its default stays.
void read_options(pam_handle_t *pamh, int count, const char **words, struct options *options);

// The user whose password was asked for; NULL if there is none, or if this process cannot become that user.
const struct passwd *user_of(pam_handle_t *pamh, const struct options *options);

enum outcome {
    NOT_RUN,   // The program was not started. Why is logged.
    ENDED,     // It has closed its output.
    GOES_ON,   // It has not, in the time that it had.
};

// Runs `PROGRAM ---login WORD [PID]` as the user, with the parts of a secret as its standard input, and takes its
// standard output until it closes that.
//
// seconds: how long to wait; with 0 the program gets no output. size: the room in `answer`, then the bytes in it.
enum outcome hand_over(pam_handle_t *pamh, const struct options *options, const struct passwd *user, const char *word,
                       const struct iovec *parts, int count, unsigned seconds, char *answer, size_t *size);

// Keeps a copy of the passcode for pam_sm_open_session, in locked memory that no core file has and no child inherits.
void keep_passcode(pam_handle_t *pamh, const struct options *options, const struct passwd *user, const char *passcode,
                   size_t size);

// The kept passcode of this user; false if there is none. It is valid until `forget_passcode`.
bool kept_passcode(pam_handle_t *pamh, const struct passwd *user, struct iovec *passcode);

// Wipes the copy. pam_end(3) does it too.
void forget_passcode(pam_handle_t *pamh);
