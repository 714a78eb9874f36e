#ifndef CFUSE_H
#define CFUSE_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <linux/fuse.h>
#include <stdbool.h>

/// What a worker thread is doing: the request that lies in its buffer, and whether to wipe it afterwards.
struct lk_fuse_worker {
    void *bytes;
    size_t count;
    bool secret;
};

/// The worker that runs on this thread, or NULL.
struct lk_fuse_worker *lk_fuse_current_worker(void);
void lk_fuse_set_current_worker(struct lk_fuse_worker *worker);

/// Sends a session's traffic over `device`, which it takes over, through functions of our own, so that
/// lk_fuse_add_init_flags can work. 0 or -errno.
int lk_fuse_session_intercept(struct fuse_session *session, int device);

/// Close-on-exec. -1 on failure.
int lk_fuse_duplicate(int device);

/// Adds FUSE_INIT flags that this libfuse has no capability for, or forgets to send, to the next INIT reply that this
/// thread writes. Called from the init operation.
void lk_fuse_add_init_flags(uint64_t flags);

/// Gives libfuse's messages, formatted, to `log`; NULL sends them to stderr again.
void lk_fuse_set_log(void (*log)(int level, const char *message));

/// To standard error.
void lk_fuse_print(const char *message);

/// The size of the memory that malloc gave out at `memory`.
size_t lk_fuse_memory_size(void *memory);

/// The device number of the file system at `path`, without asking that file system anything. 0 or errno.
int lk_fuse_device(const char *path, uint64_t *device, uint32_t *device_minor);

/// Bit fields, which Swift does not see in every toolchain the same way.
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
