// Calls that no lock affects: they succeed, and soon.

#define _GNU_SOURCE
#include "writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void work_beside(const char *path, struct tally *tally) {
    static uint8_t page[4096], read_back[4096];
    char other[4096];
    int file = open_or_fail(path, O_RDWR | O_CREAT | O_EXCL);
    snprintf(other, sizeof other, "%s.other", path);
    while (goes_on()) {
        off_t offset = (off_t)chance(64) * 4096;
        fill(page, sizeof page);
        uint64_t start = now();
        must(tally, "write", start, pwrite(file, page, sizeof page, offset) == sizeof page);
        start = now();
        must(tally, "read", start, pread(file, read_back, sizeof read_back, offset) == sizeof read_back);
        if (memcmp(page, read_back, sizeof page) != 0) {
            wrong("a page reads back as another");
        }
        start = now();
        int made = open(other, O_RDWR | O_CREAT, 0644);
        must(tally, "open", start, made >= 0);
        start = now();
        must(tally, "close", start, close(made) == 0);
        start = now();
        must(tally, "unlink", start, unlink(other) == 0);
        pause_for(5);
    }
    close(file);
}

void work_by_syncing(const char *path, struct tally *tally) {
    (void)path;
    while (goes_on()) {
        uint64_t start = now();
        sync();
        counts(tally, "sync", start, true);
        pause_for(20);
    }
}
