// A program that runs while its files are locked and unlocked, and knows what they must hold.
//
// Started as "writer ROLE FILE SEED". It works until its standard input ends: the file must be unlocked by then. Then
// it reads all of it once more, says on one line what it has done, and ends with status 0; with 1, and a line that
// begins with "wrong", at the first answer that no lock explains.

#ifndef WRITER_H
#define WRITER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tally {
    uint64_t done;
    uint64_t refused;
    // Of a call, in microseconds.
    uint64_t longest;
};

typedef void Role(const char *path, struct tally *tally);

// write: write(2) at any place, ftruncate, fsync and reads; a lock refuses them, or for `held` must not.
// synchronous: the same with O_SYNC. append: with O_APPEND.
Role work_by_calls, work_by_synchronous_calls, work_by_appends, work_while_held;
// Stores into a shared mapping, msync and fsync.
Role work_by_mapping;
// Small acts on a file that no lock concerns; sync(2).
Role work_beside, work_by_syncing;
// Opens and reads that wait for the unlock, and must not be refused.
Role work_by_waiting;

// Whether standard input is still open.
bool goes_on(void);

// A number from 0 to below `bound`.
uint64_t chance(uint64_t bound);
void fill(uint8_t *bytes, size_t count);

// Microseconds.
uint64_t now(void);

// For a caller that was refused or has nothing to do.
void pause_for(unsigned milliseconds);

// Says why, and ends the process.
void wrong(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

// Counts an answer of a call that began at `start`: whether it succeeded. ENOKEY is a refusal; what else is an error is
// wrong.
bool counts(struct tally *tally, const char *call, uint64_t start, bool succeeded);

// Counts an answer of a call that nothing may refuse.
void must(struct tally *tally, const char *call, uint64_t start, bool succeeded);

int open_or_fail(const char *path, int flags);

#endif
