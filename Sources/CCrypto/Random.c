#include "CCrypto.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

// The kernel's generator rather than OpenSSL's: it has no state in this process that could be copied by a fork or
// read by an attacker, and nothing to allocate for each thread.
void lk_random(void *bytes, size_t count) {
    uint8_t *next = bytes;
    while (count > 0) {
        ssize_t got = getrandom(next, count, 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            abort(); // no getrandom(2): no kernel that could mount this file system
        }
        next += got;
        count -= (size_t)got;
    }
}
