#ifndef CFUSE_H
#define CFUSE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include "Ring.h"

// What this <linux/fuse.h> may be older than -------------------------------------------------------------------------

/// Since protocol 7.39.
enum { LK_FUSE_STATX = 52 };
/// A flag of FUSE_INIT, since protocol 7.42.
#define LK_FUSE_OVER_IO_URING (1ULL << 41)
// Since 7.39, Linux 6.6.
#define LK_FUSE_DIRECT_IO_ALLOW_MMAP (1ULL << 36)
// Since 7.44, Linux 6.16.
enum { LK_FUSE_NOTIFY_INC_EPOCH = 8 };

/// STATX_BASIC_STATS and STATX_BTIME, which Glibc declares only for GNU programs.
enum { LK_STATX_BASIC = 0x7ff, LK_STATX_BTIME = 0x800 };

struct lk_fuse_statx_in {
    uint32_t getattr_flags;
    uint32_t reserved;
    uint64_t fh;
    uint32_t sx_flags;
    uint32_t sx_mask;
};

struct lk_fuse_sx_time {
    int64_t tv_sec;
    uint32_t tv_nsec;
    int32_t reserved;
};

struct lk_fuse_statx_out {
    uint64_t attr_valid;
    uint32_t attr_valid_nsec;
    uint32_t flags;
    uint64_t spare[2];
    uint32_t mask;
    uint32_t blksize;
    uint64_t attributes;
    uint32_t nlink;
    uint32_t uid;
    uint32_t gid;
    uint16_t mode;
    uint16_t spare0;
    uint64_t ino;
    uint64_t size;
    uint64_t blocks;
    uint64_t attributes_mask;
    struct lk_fuse_sx_time atime;
    struct lk_fuse_sx_time btime;
    struct lk_fuse_sx_time ctime;
    struct lk_fuse_sx_time mtime;
    uint32_t rdev_major;
    uint32_t rdev_minor;
    uint32_t dev_major;
    uint32_t dev_minor;
    uint64_t spare2[14];
};

// Threads ------------------------------------------------------------------------------------------------------------

/// Of the request that a thread handles.
struct lk_fuse_handling {
    /// The memory in a ring that holds it, as the owner of that memory knows it; NULL for a request from /dev/fuse.
    void *slot;
    /// It holds secret bytes.
    bool is_secret;
};

/// This thread's.
struct lk_fuse_handling *lk_fuse_handling(void);

// Mounting, by libfuse -----------------------------------------------------------------------------------------------

/// A session that can be mounted and serves no request; NULL for options that libfuse does not know.
struct fuse_session *lk_fuse_session_new(struct fuse_args *arguments);

/// Close-on-exec. -1 on failure.
int lk_fuse_duplicate(int device);

/// Passes libfuse's messages, formatted, to `log`; NULL sends them to stderr again.
void lk_fuse_set_log(void (*log)(int level, const char *message));

/// To standard error.
void lk_fuse_print(const char *message);

/// The device number of the file system at `path`, without a request to that file system. 0 or errno.
int lk_fuse_device(const char *path, uint64_t *device, uint32_t *device_minor);

/// The parts of a device number, as dev_t has them.
uint32_t lk_fuse_major(uint64_t device);
uint32_t lk_fuse_minor(uint64_t device);

#endif
