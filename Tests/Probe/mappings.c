// Mappings, and the SIGBUS that touching one may raise: caught with sigsetjmp and told as an answer.

#define _GNU_SOURCE
#include "probe.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    volatile uint8_t *start;
    size_t length;
} mappings[SLOTS];

static sigjmp_buf before_the_touch;

static void answer_sigbus(void) {
    puts("SIGBUS");
}

static void caught(int signal) {
    siglongjmp(before_the_touch, signal);
}

// Runs with SIGBUS caught; a nested function or block would hide the setjmp, so the callers say what they do.
#define CATCHING_SIGBUS(statement, otherwise)                          \
    do {                                                               \
        struct sigaction action = {.sa_handler = caught}, previous;    \
        sigaction(SIGBUS, &action, &previous);                         \
        if (sigsetjmp(before_the_touch, 1) == 0) {                     \
            statement;                                                 \
            sigaction(SIGBUS, &previous, NULL);                        \
        } else {                                                       \
            sigaction(SIGBUS, &previous, NULL);                        \
            otherwise;                                                 \
        }                                                              \
    } while (0)

// mmap MAPPING HANDLE LENGTH shared|private r|rw
static void do_mmap(char **argument) {
    static const struct flag kinds[] = {
        {"shared", MAP_SHARED}, {"private", MAP_PRIVATE}, {"populate", MAP_POPULATE}, {NULL, 0},
    };
    static const struct flag protections[] = {{"r", PROT_READ}, {"rw", PROT_READ | PROT_WRITE}, {NULL, 0}};
    size_t length = (size_t)number(argument[2]);
    void *start = mmap(NULL, length, flags(argument[4], protections), flags(argument[3], kinds),
                       handles[slot(argument[1])], 0);
    if (start == MAP_FAILED) {
        answer_errno();
        return;
    }
    mappings[slot(argument[0])].start = start;
    mappings[slot(argument[0])].length = length;
    answer_ok();
}

static void do_munmap(char **argument) {
    int mapping = slot(argument[0]);
    answer_result(munmap((void *)mappings[mapping].start, mappings[mapping].length));
    mappings[mapping].start = NULL;
}

// touch MAPPING OFFSET COUNT: the bytes there.
static void do_touch(char **argument) {
    volatile uint8_t *from = mappings[slot(argument[0])].start + number(argument[1]);
    size_t count = (size_t)number(argument[2]);
    volatile uint8_t *into = buffer(count);
    CATCHING_SIGBUS(
        {
            for (size_t i = 0; i < count; i++) {
                into[i] = from[i];
            }
            answer_bytes((const void *)into, count);
        },
        answer_sigbus());
}

// store MAPPING OFFSET BYTES
static void do_store(char **argument) {
    volatile uint8_t *into = mappings[slot(argument[0])].start + number(argument[1]);
    size_t count;
    const volatile uint8_t *from = bytes(argument[2], &count);
    CATCHING_SIGBUS(
        {
            for (size_t i = 0; i < count; i++) {
                into[i] = from[i];
            }
            answer_ok();
        },
        answer_sigbus());
}

// storeloop MAPPING: counts up in the first 8 bytes of every page in turn until SIGBUS; answers the last count whose
// store returned.
static void do_storeloop(char **argument) {
    int mapping = slot(argument[0]);
    size_t pages = mappings[mapping].length / 4096;
    volatile uint64_t stored = 0;
    CATCHING_SIGBUS(
        for (;;) {
            *(volatile uint64_t *)(mappings[mapping].start + stored % pages * 4096) = stored;
            stored++;
        },
        answer_number((long long)stored));
}

static void do_msync(char **argument) {
    int mapping = slot(argument[0]);
    answer_result(msync((void *)mappings[mapping].start, mappings[mapping].length, MS_SYNC));
}

static void do_mlock(char **argument) {
    int mapping = slot(argument[0]);
    answer_result(mlock((void *)mappings[mapping].start, mappings[mapping].length));
}

// resident MAPPING: how many of its pages are in the page cache.
static void do_resident(char **argument) {
    static unsigned char pages[MAXIMUM_BYTES / 4096];
    int mapping = slot(argument[0]);
    size_t count = (mappings[mapping].length + 4095) / 4096, resident = 0;
    if (count > sizeof pages || mincore((void *)mappings[mapping].start, mappings[mapping].length, pages) < 0) {
        answer_errno();
        return;
    }
    for (size_t i = 0; i < count; i++) {
        resident += pages[i] & 1;
    }
    answer_number((long long)resident);
}

const struct command mapping_commands[] = {
    {"mmap", 5, do_mmap},           {"munmap", 1, do_munmap}, {"touch", 3, do_touch}, {"store", 3, do_store},
    {"storeloop", 1, do_storeloop}, {"msync", 1, do_msync},   {"mlock", 1, do_mlock}, {"resident", 1, do_resident},
    {NULL, 0, NULL},
};
