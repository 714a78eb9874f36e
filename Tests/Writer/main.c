// The roles, and what they share.

#define _GNU_SOURCE
#include "writer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

bool goes_on(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;
    return poll(&input, 1, 0) == 0 || read(STDIN_FILENO, &byte, 1) > 0;
}

// xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled".
static uint64_t next(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
}

uint64_t chance(uint64_t bound) {
    return (next() >> 11) % bound;
}

void fill(uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(next() >> 56);
    }
}

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

void pause_for(unsigned milliseconds) {
    usleep(milliseconds * 1000);
}

void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("wrong: ");
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    _exit(1);
}

bool counts(struct tally *tally, const char *call, uint64_t start, bool succeeded) {
    int error = errno;
    uint64_t took = now() - start;
    if (took > tally->longest) {
        tally->longest = took;
    }
    if (succeeded) {
        tally->done++;
        return true;
    }
    if (error != ENOKEY) {
        wrong("%s: %s", call, strerrorname_np(error));
    }
    tally->refused++;
    return false;
}

void must(struct tally *tally, const char *call, uint64_t start, bool succeeded) {
    if (!succeeded) {
        wrong("%s: %s", call, strerrorname_np(errno));
    }
    counts(tally, call, start, true);
}

int open_or_fail(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC, 0644);
    // On a busy machine the first lock may happen before the first file exists.
    while (file < 0 && errno == ENOKEY && (flags & O_CREAT) != 0) {
        pause_for(5);
        file = open(path, flags | O_CLOEXEC, 0644);
    }
    if (file < 0) {
        wrong("open %s: %s", path, strerrorname_np(errno));
    }
    return file;
}

int main(int count, char **word) {
    static const struct {
        const char *name;
        Role *work;
    } roles[] = {
        {"write", work_by_calls},   {"synchronous", work_by_synchronous_calls}, {"append", work_by_appends},
        {"held", work_while_held},  {"map", work_by_mapping},                   {"beside", work_beside},
        {"sync", work_by_syncing}, {"wait", work_by_waiting},
    };
    struct tally tally = {0};
    if (count != 4) {
        return 2;
    }
    state = strtoull(word[3], NULL, 10) * 2 + 1;
    for (int i = 0; i < 16; i++) {
        next();
    }
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(word[1], roles[i].name) == 0) {
            roles[i].work(word[2], &tally);
            printf("done %" PRIu64 " refused %" PRIu64 " longest %" PRIu64 "\n", tally.done, tally.refused,
                   tally.longest);
            return 0;
        }
    }
    return 2;
}
