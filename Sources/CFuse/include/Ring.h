#ifndef CFUSE_RING_H
#define CFUSE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/// What FUSE needs of io_uring, by its three system calls. One thread makes a ring, uses it and closes it.
///
/// Source: io_uring_setup(2), io_uring_enter(2); linux/io_uring.h; Documentation/filesystems/fuse/fuse-io-uring.rst.
struct lk_ring {
    int file;
    /// Submissions that the kernel has not yet seen.
    uint32_t prepared;
    void *rings;
    size_t rings_size;
    void *submissions;
    size_t submissions_size;
    uint32_t *submission_head, *submission_tail, *submission_array;
    uint32_t submission_mask, submission_count;
    uint32_t *completion_head, *completion_tail;
    uint32_t completion_mask;
    void *completions;
    uint32_t tail;
};

/// What follows the fixed part of struct fuse_uring_req_header. Since protocol 7.42.
struct lk_ring_entry {
    uint64_t flags;
    uint64_t commit_id;
    uint32_t payload_size;
    uint32_t padding;
    uint64_t reserved;
};

/// struct fuse_uring_req_header: memory that the kernel and this process share for one request.
struct lk_ring_header {
    /// struct fuse_in_header, then struct fuse_out_header.
    uint8_t header[128];
    /// The fixed part of a request.
    uint8_t fixed[128];
    struct lk_ring_entry entry;
};

/// Makes a ring for `count` submissions at a time. 0 or errno.
int lk_ring_open(struct lk_ring *ring, uint32_t count);
void lk_ring_close(struct lk_ring *ring);

/// Prepares: the kernel may put requests of queue `queue` into the memory of `parts`, a struct lk_ring_header and the
/// payload. Both, and `parts` itself, must stay. False if the submissions are used up until `lk_ring_enter`.
bool lk_ring_fetch(struct lk_ring *ring, int device, uint16_t queue, const struct iovec parts[2], uint64_t data);

/// Prepares: the answer is in the same memory; the kernel takes it, and may put the next request there.
bool lk_ring_commit(struct lk_ring *ring, int device, uint16_t queue, uint64_t commit_id, uint64_t data);

/// Prepares: a completion when `file` can be read, once.
bool lk_ring_poll(struct lk_ring *ring, int file, uint64_t data);

/// Submits all that is prepared, and waits for at least `wanted` completions. 0 or errno.
int lk_ring_enter(struct lk_ring *ring, uint32_t wanted);

/// Takes a completion; false if there is none.
bool lk_ring_next(struct lk_ring *ring, uint64_t *data, int32_t *result);

/// Lets this thread run on one processor only. False if that is not possible.
bool lk_run_on(uint32_t processor);

#endif
