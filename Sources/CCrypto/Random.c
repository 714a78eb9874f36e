#include "CCrypto.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

// The kernel's generator, not OpenSSL's: it has no state in this process that a fork could copy or an attacker could
// read, and allocates nothing for each thread.
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
