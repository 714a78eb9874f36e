// Calls that wait while their file is locked, on a mount that freezes: for the program a lock is one long call.

#define _GNU_SOURCE
#include "writer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LENGTH = 3 << 20, PIECE = 700000 };

static uint8_t contents[LENGTH], piece[PIECE];

static void check(int file, struct tally *tally) {
    off_t offset = (off_t)chance(LENGTH);
    // Over several requests, or within a page; at the end as well.
    size_t count = 1 + chance(chance(2) == 0 ? PIECE : 3000);
    size_t expected = offset + count > LENGTH ? (size_t)(LENGTH - offset) : count;
    size_t done = 0;
    while (done < expected) {
        struct iovec vector = {.iov_base = piece + done, .iov_len = count - done};
        uint64_t start = now();
        // If a lock splits a read in two, the second half may be newer, as with any file.
        ssize_t got = chance(2) == 0 ? pread(file, piece + done, count - done, offset + (off_t)done)
                                     : preadv(file, &vector, 1, offset + (off_t)done);
        must(tally, "read", start, got >= 0);
        if (got == 0) {
            wrong("the file ends at %jd", (intmax_t)offset + (intmax_t)done);
        }
        done += (size_t)got;
    }
    if (done != expected || memcmp(piece, contents + offset, done) != 0) {
        wrong("other bytes at %jd", (intmax_t)offset);
    }
}

void work_by_waiting(const char *path, struct tally *tally) {
    int file = open_or_fail(path, O_RDWR | O_CREAT | O_EXCL);
    fill(contents, sizeof contents);
    for (size_t done = 0; done < sizeof contents;) {
        ssize_t put = write(file, contents + done, sizeof contents - done);
        if (put > 0) {
            done += (size_t)put;
        } else if (put < 0 && errno == ENOKEY) {
            // The first lock has already happened.
            pause_for(5);
        } else {
            wrong("write: %s", strerrorname_np(errno));
        }
    }
    while (goes_on()) {
        check(file, tally);
        if (chance(4) == 0) {
            uint64_t start = now();
            int fresh = open(path, O_RDONLY | O_CLOEXEC);
            must(tally, "open", start, fresh >= 0);
            check(fresh, tally);
            close(fresh);
        }
    }
    close(file);
}
