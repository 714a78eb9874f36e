// The loop that reads lines and writes answers, and the words that both consist of.

#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t contents[MAXIMUM_BYTES];

static void reject(const char *why, const char *word) {
    fprintf(stderr, "probe: %s: %s\n", why, word);
    exit(2);
}

void answer_ok(void) {
    puts("ok");
}

void answer_number(long long number) {
    printf("ok %lld\n", number);
}

void answer_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("ok ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

void answer_bytes(const void *bytes, size_t count) {
    static const char digits[] = "0123456789abcdef";
    fputs("ok ", stdout);
    for (size_t i = 0; i < count; i++) {
        uint8_t byte = ((const uint8_t *)bytes)[i];
        putchar_unlocked(digits[byte >> 4]);
        putchar_unlocked(digits[byte & 15]);
    }
    puts(count == 0 ? "-" : "");
}

void answer_errno(void) {
    const char *name = strerrorname_np(errno);
    puts(name ? name : "EUNKNOWN");
}

void answer_result(int result) {
    if (result < 0) {
        answer_errno();
    } else {
        answer_ok();
    }
}

long long number(const char *word) {
    char *end;
    long long value = strtoll(word, &end, 0);
    if (*word == 0 || *end != 0) {
        reject("not a number", word);
    }
    return value;
}

int slot(const char *word) {
    long long value = number(word);
    if (value < 0 || value >= SLOTS) {
        reject("no such slot", word);
    }
    return (int)value;
}

static int nibble(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
}

const uint8_t *bytes(const char *word, size_t *count) {
    *count = 0;
    if (strcmp(word, "-") == 0) {
        return contents;
    }
    for (; *word != 0; word += 2) {
        int high = nibble(word[0]);
        int low = high < 0 ? -1 : nibble(word[1]);
        if (low < 0 || *count == MAXIMUM_BYTES) {
            reject("not hexadecimal bytes", word);
        }
        contents[(*count)++] = (uint8_t)(high << 4 | low);
    }
    return contents;
}

void *buffer(size_t count) {
    if (count > MAXIMUM_BYTES) {
        reject("too many bytes", "");
    }
    return contents;
}

int flags(const char *word, const struct flag *table) {
    int value = 0;
    while (*word != 0) {
        size_t length = strcspn(word, ",");
        const struct flag *flag = table;
        while (flag->name && !(strlen(flag->name) == length && strncmp(flag->name, word, length) == 0)) {
            flag++;
        }
        if (!flag->name) {
            reject("no such flag", word);
        }
        value |= flag->value;
        word += length + (word[length] == ',');
    }
    return value;
}

static void decode_percent(char *word) {
    char *out = word;
    for (; *word != 0; word++) {
        if (*word == '%' && nibble(word[1]) >= 0 && nibble(word[2]) >= 0) {
            *out++ = (char)(nibble(word[1]) << 4 | nibble(word[2]));
            word += 2;
        } else {
            *out++ = *word;
        }
    }
    *out = 0;
}

static const struct command *find(const char *name) {
    const struct command *tables[] = {handle_commands, mapping_commands, path_commands};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        for (const struct command *command = tables[i]; command->name; command++) {
            if (strcmp(command->name, name) == 0) {
                return command;
            }
        }
    }
    return NULL;
}

static int obey(void) {
    enum { WORDS = 8 };
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    for (int i = 0; i < SLOTS; i++) {
        handles[i] = -1;
    }
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        if (line[length - 1] == '\n') {
            line[length - 1] = 0;
        }
        char *word[WORDS + 1] = {0};
        int count = 0;
        for (char *rest = line, *next; count < WORDS && (next = strsep(&rest, " ")) != NULL;) {
            decode_percent(next);
            word[count++] = next;
        }
        const struct command *command = find(word[0]);
        if (!command) {
            reject("no such command", word[0]);
        }
        if (command->arguments != count - 1) {
            reject("wrong number of words", command->name);
        }
        command->run(word + 1);
        fflush(stdout);
    }
    return 0;
}

// exec DIRECTORY PROGRAM ARGUMENT...: becomes the program, with standard input, output and error alone.
static int become(char **word) {
    if (close_range(3, ~0U, 0) == 0 && chdir(word[0]) == 0) {
        execvp(word[1], word + 1);
    }
    fprintf(stderr, "%s: %s\n", word[1], strerror(errno));
    return 127;
}

// measure FILE PROGRAM ARGUMENT...: runs the program, writes its largest resident memory in KiB into the file, and ends
// as it did. (What a process that was spawned reports of itself counts the memory of the process that spawned it.)
static int measure(char **word) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(word[1], word + 1);
        fprintf(stderr, "%s: %s\n", word[1], strerror(errno));
        _exit(127);
    }
    int status;
    struct rusage use;
    if (child < 0 || wait4(child, &status, 0, &use) < 0) {
        fprintf(stderr, "measure: %s\n", strerror(errno));
        return 127;
    }
    FILE *file = fopen(word[0], "w");
    if (!file || fprintf(file, "%ld\n", use.ru_maxrss) < 0 || fclose(file) != 0) {
        fprintf(stderr, "%s: %s\n", word[0], strerror(errno));
        return 127;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int count, char **word) {
    // The thread of the tests that starts this one may block every signal, and they ignore SIGPIPE.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (count > 3 && strcmp(word[1], "exec") == 0) {
        return become(word + 2);
    }
    if (count > 3 && strcmp(word[1], "measure") == 0) {
        return measure(word + 2);
    }
    return obey();
}
