// Calls through a file descriptor.

#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int handles[SLOTS];

static void do_open(char **argument) {
    static const struct flag table[] = {
        {"r", O_RDONLY}, {"w", O_WRONLY}, {"rw", O_RDWR}, {"creat", O_CREAT}, {"excl", O_EXCL},
        {"trunc", O_TRUNC}, {"append", O_APPEND}, {"direct", O_DIRECT}, {"path", O_PATH},
        {"tmpfile", O_TMPFILE},
        {"dir", O_DIRECTORY}, {"sync", O_SYNC}, {NULL, 0},
    };
    int wanted = flags(argument[2], table);
    int file = open(argument[1], wanted | O_CLOEXEC, (mode_t)number(argument[3]));
    if (file < 0) {
        answer_errno();
        return;
    }
    handles[slot(argument[0])] = file;
    answer_ok();
}

static void do_close(char **argument) {
    int *handle = &handles[slot(argument[0])];
    int result = close(*handle);
    *handle = -1;
    answer_result(result);
}

static void do_pread(char **argument) {
    size_t count = (size_t)number(argument[2]);
    void *into = buffer(count);
    ssize_t got = pread(handles[slot(argument[0])], into, count, number(argument[1]));
    if (got < 0) {
        answer_errno();
    } else {
        answer_bytes(into, (size_t)got);
    }
}

static void do_read(char **argument) {
    size_t count = (size_t)number(argument[1]);
    void *into = buffer(count);
    ssize_t got = read(handles[slot(argument[0])], into, count);
    if (got < 0) {
        answer_errno();
    } else {
        answer_bytes(into, (size_t)got);
    }
}

static void answer_count(ssize_t count) {
    if (count < 0) {
        answer_errno();
    } else {
        answer_number(count);
    }
}

static void do_pwrite(char **argument) {
    size_t count;
    const uint8_t *from = bytes(argument[2], &count);
    answer_count(pwrite(handles[slot(argument[0])], from, count, number(argument[1])));
}

static void do_write(char **argument) {
    size_t count;
    const uint8_t *from = bytes(argument[1], &count);
    answer_count(write(handles[slot(argument[0])], from, count));
}

// fill SLOT OFFSET COUNT BYTE: one write(2) of many equal bytes.
static void do_fill(char **argument) {
    size_t count = (size_t)number(argument[2]);
    void *from = buffer(count);
    memset(from, (int)number(argument[3]), count);
    answer_count(pwrite(handles[slot(argument[0])], from, count, number(argument[1])));
}

// writeloop SLOT: 8-byte counters from the start of the file on, until a write fails; answers how many were
// acknowledged and why the next one was not.
static void do_writeloop(char **argument) {
    int handle = handles[slot(argument[0])];
    uint64_t counter = 0;
    while (counter < 1 << 22) {
        ssize_t count = pwrite(handle, &counter, sizeof counter, (off_t)(counter * sizeof counter));
        if (count != sizeof counter) {
            answer_text("%llu %s", (unsigned long long)counter, count < 0 ? strerrorname_np(errno) : "short");
            return;
        }
        counter++;
    }
    answer_text("%llu never", (unsigned long long)counter);
}

// refusedloop SLOT OFFSET COUNT MILLISECONDS: the same write again and again, for so long; answers how many of the
// writes were refused, and what for.
static void do_refusedloop(char **argument) {
    int handle = handles[slot(argument[0])];
    size_t count = (size_t)number(argument[2]);
    void *from = buffer(count);
    memset(from, 'w', count);
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += number(argument[3]) % 1000 * 1000000;
    end.tv_sec += number(argument[3]) / 1000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    long long refused = 0;
    const char *why = "nothing";
    do {
        if (pwrite(handle, from, count, number(argument[1])) < 0) {
            refused++;
            why = strerrorname_np(errno);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    answer_text("%lld %s", refused, why);
}

// copyrange FROM OFFSET TO OFFSET COUNT: from the one to the other, within the kernel.
static void do_copyrange(char **argument) {
    off_t from = number(argument[1]), to = number(argument[3]);
    answer_count(copy_file_range(handles[slot(argument[0])], &from, handles[slot(argument[2])], &to,
                                 (size_t)number(argument[4]), 0));
}

// sendfile FROM TO COUNT: through the page cache and a pipe of the kernel's own.
static void do_sendfile(char **argument) {
    off_t from = 0;
    answer_count(sendfile(handles[slot(argument[1])], handles[slot(argument[0])], &from, (size_t)number(argument[2])));
}

static void do_lseek(char **argument) {
    static const struct flag table[] = {
        {"set", SEEK_SET}, {"cur", SEEK_CUR}, {"end", SEEK_END}, {"data", SEEK_DATA}, {"hole", SEEK_HOLE}, {NULL, 0},
    };
    answer_count(lseek(handles[slot(argument[0])], number(argument[1]), flags(argument[2], table)));
}

static void do_ftruncate(char **argument) {
    answer_result(ftruncate(handles[slot(argument[0])], number(argument[1])));
}

static void do_fallocate(char **argument) {
    static const struct flag table[] = {
        {"0", 0}, {"keep", FALLOC_FL_KEEP_SIZE}, {"punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
        {"zero", FALLOC_FL_ZERO_RANGE}, {NULL, 0},
    };
    int mode = flags(argument[1], table);
    answer_result(fallocate(handles[slot(argument[0])], mode, number(argument[2]), number(argument[3])));
}

static void do_fsync(char **argument) {
    answer_result(fsync(handles[slot(argument[0])]));
}

static void do_fdatasync(char **argument) {
    answer_result(fdatasync(handles[slot(argument[0])]));
}

static void do_syncfs(char **argument) {
    answer_result(syncfs(handles[slot(argument[0])]));
}

static void do_fsize(char **argument) {
    struct stat status;
    if (fstat(handles[slot(argument[0])], &status) < 0) {
        answer_errno();
    } else {
        answer_number(status.st_size);
    }
}

const struct command handle_commands[] = {
    {"open", 4, do_open},           {"close", 1, do_close},         {"read", 2, do_read},
    {"pread", 3, do_pread},         {"write", 2, do_write},         {"pwrite", 3, do_pwrite},
    {"fill", 4, do_fill},           {"writeloop", 1, do_writeloop}, {"lseek", 3, do_lseek},
    {"ftruncate", 2, do_ftruncate}, {"fallocate", 4, do_fallocate}, {"fsync", 1, do_fsync},
    {"fdatasync", 1, do_fdatasync}, {"syncfs", 1, do_syncfs},       {"fsize", 1, do_fsize},
    {"copyrange", 5, do_copyrange}, {"sendfile", 3, do_sendfile},
    {"refusedloop", 4, do_refusedloop},
    {NULL, 0, NULL},
};
