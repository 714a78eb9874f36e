// A program that stays running while the tests lock and unlock around it.
//
// Started as "probe exec DIRECTORY PROGRAM...", it becomes that program; as "probe measure FILE PROGRAM...", it runs
// the program and notes its memory. Otherwise it reads one command a line from standard input and answers each with
// one line: "ok", with a result after it, or the name of the errno ("ENOKEY"), or "SIGBUS" if a touched mapping has no
// page. Words are separated by one space; in a path, space, percent and newline are written %20 %25 %0a; contents are
// hexadecimal, "-" meaning none. The test chooses the numbers of handles and mappings, 0 to 63.

#ifndef PROBE_H
#define PROBE_H

#include <stddef.h>
#include <stdint.h>

enum { SLOTS = 64, MAXIMUM_BYTES = 4 << 20 };

typedef void Command(char **argument);

struct command {
    const char *name;
    int arguments;
    Command *run;
};

// Each ends with an entry that has no name.
extern const struct command handle_commands[];
extern const struct command mapping_commands[];
extern const struct command path_commands[];

extern int handles[SLOTS];

void answer_ok(void);
void answer_number(long long number);
void answer_bytes(const void *bytes, size_t count);
void answer_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void answer_errno(void);

// The answer of a call that returns 0 or -1.
void answer_result(int result);

int slot(const char *word);
long long number(const char *word);
// In a buffer that the next call reuses.
const uint8_t *bytes(const char *word, size_t *count);
void *buffer(size_t count);

// A name of the table that the word is made of, several joined by commas or'ed together.
struct flag {
    const char *name;
    int value;
};
int flags(const char *word, const struct flag *table);

#endif
