#define _GNU_SOURCE
#include "CFuse.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local struct lk_fuse_worker *current_worker;
static _Thread_local uint64_t extra_init_flags;

struct lk_fuse_worker *lk_fuse_current_worker(void) { return current_worker; }

void lk_fuse_set_current_worker(struct lk_fuse_worker *worker) { current_worker = worker; }

void lk_fuse_add_init_flags(uint64_t flags) { extra_init_flags = flags; }

static ssize_t intercepted_read(int fd, void *buffer, size_t size, void *userdata) {
    (void)userdata;
    return read(fd, buffer, size);
}

static ssize_t intercepted_writev(int fd, struct iovec *parts, int count, void *userdata) {
    (void)userdata;
    // The init operation and its reply run on one thread, with no other reply in between.
    if (extra_init_flags != 0) {
        if (count == 2 && parts[1].iov_len == sizeof(struct fuse_init_out)) {
            struct fuse_init_out *reply = parts[1].iov_base;
            reply->flags |= (uint32_t)extra_init_flags;
        }
        extra_init_flags = 0;
    }
    return writev(fd, parts, count);
}

int lk_fuse_session_intercept(struct fuse_session *session, int device) {
    static const struct fuse_custom_io io = {.writev = intercepted_writev, .read = intercepted_read};
    return fuse_session_custom_io(session, &io, device);
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

size_t lk_fuse_memory_size(void *memory) { return malloc_usable_size(memory); }
