// Stores into a shared mapping: a store that msync or fsync has confirmed is in the file, and a lost store was
// reported.

#define _GNU_SOURCE
#include "writer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64, CELLS = PAGES * PAGE / 8 };

static sigjmp_buf before_the_touch;
// Numbers that only grow: in each cell, the last that was stored and the last that was confirmed.
static uint64_t last[CELLS], confirmed[CELLS];
static volatile uint64_t *mapping;

static void caught(int signal) {
    siglongjmp(before_the_touch, signal);
}

// False if the page cannot be loaded.
static bool store(size_t cell, uint64_t value) {
    if (sigsetjmp(before_the_touch, 1) != 0) {
        return false;
    }
    mapping[cell] = value;
    return true;
}

static bool load(size_t cell, uint64_t *value) {
    if (sigsetjmp(before_the_touch, 1) != 0) {
        return false;
    }
    *value = mapping[cell];
    return true;
}

static void expect(size_t cell, uint64_t value) {
    if (value < confirmed[cell] || value > last[cell]) {
        wrong("cell %zu holds %" PRIu64 ", not from %" PRIu64 " to %" PRIu64, cell, value, confirmed[cell], last[cell]);
    }
}

// Reads all cells; false where a lock refuses some.
static bool read_cells(int file, uint64_t cells[CELLS]) {
    const size_t size = CELLS * sizeof *cells;
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(file, (uint8_t *)cells + done, size - done, (off_t)done);
        if (got < 0 && errno == ENOKEY) {
            return false;
        }
        if (got <= 0) {
            wrong("read of %zu bytes at %zu: %s", size - done, done, got == 0 ? "nothing" : strerrorname_np(errno));
        }
        done += (size_t)got;
    }
    return true;
}

// Waits for the unlock. If msync or fsync has reported an error, a store since the last check may be lost: it must stay
// lost.
static void take_what_is_there(int file, bool is_reported) {
    static uint64_t cells[CELLS];
    while (!read_cells(file, cells)) {
        pause_for(1);
    }
    for (size_t cell = 0; cell < CELLS; cell++) {
        expect(cell, cells[cell]);
        if (!is_reported && cells[cell] != last[cell]) {
            wrong("cell %zu holds %" PRIu64 " instead of %" PRIu64 ", unreported", cell, cells[cell], last[cell]);
        }
        confirmed[cell] = last[cell] = cells[cell];
    }
}

// Confirms all stores. If that fails, the cells are read first, and what they hold counts, before anything else is
// stored.
static void synchronize(int file, struct tally *tally) {
    // Both calls report what has happened since their own last call.
    uint64_t start = now();
    bool is_whole = counts(tally, "msync", start, msync((void *)mapping, CELLS * 8, MS_SYNC) == 0);
    start = now();
    is_whole = counts(tally, "fsync", start, fsync(file) == 0) && is_whole;
    if (is_whole) {
        memcpy(confirmed, last, sizeof last);
    } else {
        take_what_is_there(file, true);
    }
}

void work_by_mapping(const char *path, struct tally *tally) {
    struct sigaction action = {.sa_handler = caught};
    sigaction(SIGBUS, &action, NULL);
    int file = open_or_fail(path, O_RDWR | O_CREAT | O_EXCL);
    while (ftruncate(file, CELLS * 8) != 0) {
        if (errno != ENOKEY) {
            wrong("ftruncate: %s", strerrorname_np(errno));
        }
        // The first lock has come before it.
        pause_for(5);
    }
    mapping = mmap(NULL, CELLS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) {
        wrong("mmap: %s", strerrorname_np(errno));
    }
    uint64_t number = 0;
    while (goes_on()) {
        size_t cell = chance(CELLS);
        uint64_t value;
        uint64_t start = now();
        if (chance(4) == 0 && load(cell, &value)) {
            expect(cell, value);
        } else if (store(cell, ++number)) {
            last[cell] = number;
            counts(tally, "store", start, true);
        } else {
            // SIGBUS.
            errno = ENOKEY;
            counts(tally, "store", start, false);
            synchronize(file, tally);
            pause_for(1);
        }
        if (chance(2000) == 0) {
            synchronize(file, tally);
        }
    }
    synchronize(file, tally);
    take_what_is_there(file, false);
    if (munmap((void *)mapping, CELLS * 8) != 0 || close(file) != 0) {
        wrong("the end: %s", strerrorname_np(errno));
    }
}
