// Calls by name.

#define _GNU_SOURCE
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// stat PATH: mode in octal, size, links, owner, group, inode, modification time in nanoseconds.
static void do_stat(char **argument) {
    struct stat s;
    if (lstat(argument[0], &s) < 0) {
        answer_errno();
        return;
    }
    answer_text("%o %lld %llu %u %u %llu %lld %lld", s.st_mode, (long long)s.st_size, (unsigned long long)s.st_nlink,
                s.st_uid, s.st_gid, (unsigned long long)s.st_ino,
                (long long)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec,
                (long long)s.st_ctim.tv_sec * 1000000000 + s.st_ctim.tv_nsec);
}

static void do_truncate(char **argument) {
    answer_result(truncate(argument[0], number(argument[1])));
}

static void do_rename(char **argument) {
    static const struct flag table[] = {
        {"0", 0}, {"noreplace", RENAME_NOREPLACE}, {"exchange", RENAME_EXCHANGE}, {NULL, 0},
    };
    answer_result(renameat2(AT_FDCWD, argument[0], AT_FDCWD, argument[1], (unsigned)flags(argument[2], table)));
}

static void do_link(char **argument) {
    answer_result(link(argument[0], argument[1]));
}

static void do_unlink(char **argument) {
    answer_result(unlink(argument[0]));
}

static void do_mkdir(char **argument) {
    answer_result(mkdir(argument[0], (mode_t)number(argument[1])));
}

static void do_rmdir(char **argument) {
    answer_result(rmdir(argument[0]));
}

static void do_symlink(char **argument) {
    answer_result(symlink(argument[0], argument[1]));
}

static void do_readlink(char **argument) {
    char *target = buffer(4096);
    ssize_t count = readlink(argument[0], target, 4096);
    if (count < 0) {
        answer_errno();
    } else {
        answer_bytes(target, (size_t)count);
    }
}

static void do_mkfifo(char **argument) {
    answer_result(mkfifo(argument[0], (mode_t)number(argument[1])));
}

static void do_chmod(char **argument) {
    answer_result(chmod(argument[0], (mode_t)number(argument[1])));
}

static void do_chown(char **argument) {
    answer_result(lchown(argument[0], (uid_t)number(argument[1]), (gid_t)number(argument[2])));
}

// utimens PATH NANOSECONDS: both times.
static void do_utimens(char **argument) {
    long long when = number(argument[1]);
    struct timespec time = {.tv_sec = when / 1000000000, .tv_nsec = when % 1000000000};
    struct timespec times[2] = {time, time};
    answer_result(utimensat(AT_FDCWD, argument[0], times, AT_SYMLINK_NOFOLLOW));
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// list PATH: the names but . and .., sorted, with a slash after each, in hexadecimal.
static void do_list(char **argument) {
    DIR *directory = opendir(argument[0]);
    if (!directory) {
        answer_errno();
        return;
    }
    enum { MOST = 20000 };
    static char *names[MOST];
    size_t count = 0;
    struct dirent *entry;
    while ((errno = 0, entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && count < MOST) {
            names[count++] = strdup(entry->d_name);
        }
    }
    int error = errno;
    closedir(directory);
    qsort(names, count, sizeof *names, by_bytes);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s/", names[i]);
        free(names[i]);
    }
    fclose(out);
    errno = error;
    if (error != 0) {
        answer_errno();
    } else {
        answer_bytes(text, length);
    }
    free(text);
}

static void do_getxattr(char **argument) {
    void *value = buffer(65536);
    ssize_t count = lgetxattr(argument[0], argument[1], value, 65536);
    if (count < 0) {
        answer_errno();
    } else {
        answer_bytes(value, (size_t)count);
    }
}

static void do_setxattr(char **argument) {
    size_t count;
    const uint8_t *value = bytes(argument[2], &count);
    answer_result(lsetxattr(argument[0], argument[1], value, count, 0));
}

static void do_removexattr(char **argument) {
    answer_result(lremovexattr(argument[0], argument[1]));
}

// listxattr PATH: the names, each ended by a NUL, as the kernel gives them.
static void do_listxattr(char **argument) {
    char *names = buffer(65536);
    ssize_t count = llistxattr(argument[0], names, 65536);
    if (count < 0) {
        answer_errno();
    } else {
        answer_bytes(names, (size_t)count);
    }
}

// become UID GID: until the program ends.
static void do_become(char **argument) {
    uid_t user = (uid_t)number(argument[0]);
    gid_t group = (gid_t)number(argument[1]);
    answer_result(setgroups(0, NULL) < 0 || setresgid(group, group, group) < 0 ? -1 : setresuid(user, user, user));
}

const struct command path_commands[] = {
    {"stat", 1, do_stat},           {"truncate", 2, do_truncate},   {"rename", 3, do_rename},
    {"link", 2, do_link},           {"unlink", 1, do_unlink},       {"mkdir", 2, do_mkdir},
    {"rmdir", 1, do_rmdir},         {"symlink", 2, do_symlink},     {"readlink", 1, do_readlink},
    {"mkfifo", 2, do_mkfifo},       {"chmod", 2, do_chmod},         {"chown", 3, do_chown},
    {"utimens", 2, do_utimens},     {"list", 1, do_list},           {"getxattr", 2, do_getxattr},
    {"setxattr", 3, do_setxattr},   {"listxattr", 1, do_listxattr}, {"removexattr", 2, do_removexattr},
    {"become", 2, do_become},       {NULL, 0, NULL},
};
