// write(2) and similar calls: acknowledged bytes are in the file, refused bytes are not.

#define _GNU_SOURCE
#include "writer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 1 << 20, PIECE = 300000 };

static struct {
    uint8_t bytes[LONGEST + PIECE];
    size_t length;
} model;

static uint8_t piece[PIECE];

// A range of the file matches the model, up to where a lock refuses the reads after it.
static void check(int file, size_t offset, size_t count, struct tally *tally) {
    size_t end = offset + count < model.length ? offset + count : model.length;
    while (offset < end) {
        uint64_t start = now();
        ssize_t got = pread(file, piece, end - offset, (off_t)offset);
        if (!counts(tally, "read", start, got >= 0)) {
            return;
        }
        if (got == 0) {
            wrong("the file ends at %zu instead of %zu", offset, model.length);
        }
        if (memcmp(piece, model.bytes + offset, (size_t)got) != 0) {
            size_t i = 0;
            while (piece[i] == model.bytes[offset + i]) {
                i++;
            }
            wrong("read %zd bytes at %zu of %zu, other from %zu on", got, offset, model.length, offset + i);
        }
        offset += (size_t)got;
    }
}

static void write_some(int file, bool appends, struct tally *tally) {
    size_t offset = appends ? model.length : chance(LONGEST);
    // Mostly small, like a database's; sometimes of several requests.
    size_t count = 1 + chance(chance(8) == 0 ? PIECE : 9000);
    fill(piece, count);
    uint64_t start = now();
    ssize_t put = appends ? write(file, piece, count) : pwrite(file, piece, count, (off_t)offset);
    if (!counts(tally, "write", start, put >= 0)) {
        pause_for(1);
        return;
    }
    if (put == 0 || (size_t)put > count) {
        wrong("write of %zu bytes says %zd", count, put);
    }
    if (offset > model.length) {
        memset(model.bytes + model.length, 0, offset - model.length);
    }
    memcpy(model.bytes + offset, piece, (size_t)put);
    if (offset + (size_t)put > model.length) {
        model.length = offset + (size_t)put;
    }
}

static void truncate_file(int file, size_t length, struct tally *tally) {
    uint64_t start = now();
    if (!counts(tally, "ftruncate", start, ftruncate(file, (off_t)length) == 0)) {
        return;
    }
    if (length > model.length) {
        memset(model.bytes + model.length, 0, length - model.length);
    }
    model.length = length;
}

static void work(const char *path, int flags, bool is_refused, struct tally *tally) {
    bool appends = (flags & O_APPEND) != 0;
    int file = open_or_fail(path, O_RDWR | O_CREAT | O_EXCL | flags);
    while (goes_on()) {
        switch (chance(16)) {
        case 0:
            truncate_file(file, appends ? model.length / 2 : chance(LONGEST), tally);
            break;
        case 1: {
            uint64_t start = now();
            // Bytes that an earlier write(2) acknowledged are written: a lock does not prevent that.
            if (fsync(file) != 0) {
                wrong("fsync: %s", strerrorname_np(errno));
            }
            counts(tally, "fsync", start, true);
            break;
        }
        case 2 ... 6:
            check(file, chance(model.length + 1), 1 + chance(PIECE), tally);
            break;
        default:
            if (appends && model.length > LONGEST) {
                truncate_file(file, 0, tally);
            }
            if (!appends || model.length <= LONGEST) {
                write_some(file, appends, tally);
            }
        }
        if (!is_refused && tally->refused > 0) {
            wrong("refused, though the file was open before the lock");
        }
    }
    struct tally whole = {0};
    int fresh = open_or_fail(path, O_RDONLY);
    for (size_t offset = 0; offset < model.length; offset += PIECE) {
        check(fresh, offset, PIECE, &whole);
    }
    if (whole.refused > 0 || lseek(fresh, 0, SEEK_END) != (off_t)model.length) {
        wrong("at the end: %" PRIu64 " refused, %jd bytes instead of %zu", whole.refused,
              (intmax_t)lseek(fresh, 0, SEEK_END), model.length);
    }
    if (close(fresh) != 0 || close(file) != 0) {
        wrong("close: %s", strerrorname_np(errno));
    }
}

void work_by_calls(const char *path, struct tally *tally) {
    work(path, 0, true, tally);
}

void work_by_synchronous_calls(const char *path, struct tally *tally) {
    work(path, O_SYNC, true, tally);
}

void work_by_appends(const char *path, struct tally *tally) {
    work(path, O_APPEND, true, tally);
}

void work_while_held(const char *path, struct tally *tally) {
    work(path, 0, false, tally);
}
