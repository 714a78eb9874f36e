#define _GNU_SOURCE
#include "CFuse.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static _Thread_local struct lk_fuse_handling handling;

struct lk_fuse_handling *lk_fuse_handling(void) { return &handling; }

struct fuse_session *lk_fuse_session_new(struct fuse_args *arguments) {
    static const struct fuse_lowlevel_ops none;
    return fuse_session_new(arguments, &none, sizeof none, NULL);
}

int lk_fuse_duplicate(int device) { return fcntl(device, F_DUPFD_CLOEXEC, 0); }

static void (*_Atomic log_sink)(int level, const char *message);

static void log_message(enum fuse_log_level level, const char *format, va_list arguments) {
    char message[1024];
    if (vsnprintf(message, sizeof message, format, arguments) < 0) return;
    void (*sink)(int, const char *) = log_sink;
    if (sink != NULL) sink(level, message);
}

void lk_fuse_set_log(void (*log)(int level, const char *message)) {
    log_sink = log;
    fuse_set_log_func(log == NULL ? NULL : log_message);
}

int lk_fuse_device(const char *path, uint64_t *device, uint32_t *device_minor) {
    struct statx status;
    // With DONT_SYNC and an empty mask, a FUSE mount answers from the inode in memory. No request is sent, so there is
    // no deadlock before the loop runs, nor on a connection that hangs.
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &status) != 0) return errno;
    *device = makedev(status.stx_dev_major, status.stx_dev_minor);
    *device_minor = status.stx_dev_minor;
    return 0;
}

uint32_t lk_fuse_major(uint64_t device) { return major(device); }

uint32_t lk_fuse_minor(uint64_t device) { return minor(device); }

void lk_fuse_print(const char *message) { fputs(message, stderr); }
