#ifndef CFUSE_H
#define CFUSE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <linux/fuse.h>
#include <stdbool.h>

/// The present request of a worker thread: the buffer that contains it, and whether to wipe that afterwards.
struct lk_fuse_worker {
    void *bytes;
    size_t count;
    bool secret;
    /// As the kernel sent it: libfuse may have been given another one.
    uint32_t opcode;
    /// The setxattr_flags of the extended struct fuse_setxattr_in.
    uint32_t attribute_flags;
    /// A hash of the folder and the name of a LOOKUP; 0 where StaleAnswers has no use for it.
    long name;
};

/// Since protocol 7.39, which this header may be older than.
enum { LK_FUSE_STATX = 52 };

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

/// The worker that runs on this thread, or NULL.
struct lk_fuse_worker *lk_fuse_current_worker(void);
void lk_fuse_set_current_worker(struct lk_fuse_worker *worker);

/// Sends a session's traffic over `device`, which it takes over, through our own functions, so that
/// lk_fuse_add_init_flags can work. 0 or -errno.
int lk_fuse_session_intercept(struct fuse_session *session, int device);

/// Close-on-exec. -1 on failure.
int lk_fuse_duplicate(int device);

/// Adds FUSE_INIT flags that this libfuse does not know, or fails to send, to the next INIT reply of this thread. Call
/// it from the init operation.
void lk_fuse_add_init_flags(uint64_t flags);

/// Passes libfuse's messages, formatted, to `log`; NULL sends them to stderr again.
void lk_fuse_set_log(void (*log)(int level, const char *message));

/// To standard error.
void lk_fuse_print(const char *message);

/// The size of the malloc allocation at `memory`.
size_t lk_fuse_memory_size(void *memory);

/// The device number of the file system at `path`, without a request to that file system. 0 or errno.
int lk_fuse_device(const char *path, uint64_t *device, uint32_t *device_minor);

/// The parts of a device number, as dev_t has them.
uint32_t lk_fuse_major(uint64_t device);
uint32_t lk_fuse_minor(uint64_t device);

/// A function up to libfuse 3.16, a macro from 3.17 on, which Swift cannot call.
static inline struct fuse_session *lk_fuse_session_new(
    struct fuse_args *arguments, const struct fuse_lowlevel_ops *operations, size_t size, void *userdata) {
    return fuse_session_new(arguments, operations, size, userdata);
}

/// Bit fields, which not every toolchain imports into Swift in the same way.
static inline bool lk_fuse_is_write_page(const struct fuse_file_info *info) { return info->writepage; }

static inline struct fuse_file_info lk_fuse_opened(uint64_t handle, bool direct_io, bool keep_cache, bool no_flush,
                                                   bool cache_directory) {
    struct fuse_file_info info = {0};
    info.fh = handle;
    info.direct_io = direct_io;
    info.keep_cache = keep_cache;
    info.noflush = no_flush;
    info.cache_readdir = cache_directory;
    return info;
}

#endif
