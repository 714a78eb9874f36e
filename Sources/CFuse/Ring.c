#define _GNU_SOURCE
#include "Ring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { submission_size = 128, command_register = 1, command_commit_and_fetch = 2 };

/// struct fuse_uring_cmd_req, in the second half of a submission.
struct command {
    uint64_t flags;
    uint64_t commit_id;
    uint16_t queue;
    uint8_t padding[6];
};

static const size_t command_offset = 48;

static uint32_t *word(struct lk_ring *ring, uint32_t offset) { return (uint32_t *)((char *)ring->rings + offset); }

int lk_ring_open(struct lk_ring *ring, uint32_t count) {
    memset(ring, 0, sizeof *ring);
    // The kernel writes into the memory of a request only in lk_ring_enter, on this thread: between two calls, it is
    // this process's alone, and can be wiped.
    struct io_uring_params parameters = {
        .flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP |
                 IORING_SETUP_SUBMIT_ALL};
    ring->file = (int)syscall(SYS_io_uring_setup, count, &parameters);
    if (ring->file < 0) return errno;
    if (!(parameters.features & IORING_FEAT_SINGLE_MMAP)) {
        close(ring->file);
        return ENOSYS;
    }
    size_t submissions = parameters.sq_off.array + parameters.sq_entries * sizeof(uint32_t);
    size_t completions = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
    ring->rings_size = submissions > completions ? submissions : completions;
    ring->submissions_size = (size_t)parameters.sq_entries * submission_size;
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
    ring->rings = mmap(NULL, ring->rings_size, protection, flags, ring->file, IORING_OFF_SQ_RING);
    ring->submissions = mmap(NULL, ring->submissions_size, protection, flags, ring->file, IORING_OFF_SQES);
    if (ring->rings == MAP_FAILED || ring->submissions == MAP_FAILED) {
        int error = errno;
        lk_ring_close(ring);
        return error;
    }
    ring->submission_head = word(ring, parameters.sq_off.head);
    ring->submission_tail = word(ring, parameters.sq_off.tail);
    ring->submission_mask = *word(ring, parameters.sq_off.ring_mask);
    ring->submission_count = parameters.sq_entries;
    ring->submission_array = word(ring, parameters.sq_off.array);
    ring->completion_head = word(ring, parameters.cq_off.head);
    ring->completion_tail = word(ring, parameters.cq_off.tail);
    ring->completion_mask = *word(ring, parameters.cq_off.ring_mask);
    ring->completions = word(ring, parameters.cq_off.cqes);
    ring->tail = *ring->submission_tail;
    return 0;
}

void lk_ring_close(struct lk_ring *ring) {
    if (ring->rings != NULL && ring->rings != MAP_FAILED) munmap(ring->rings, ring->rings_size);
    if (ring->submissions != NULL && ring->submissions != MAP_FAILED)
        munmap(ring->submissions, ring->submissions_size);
    close(ring->file);
    ring->file = -1;
}

static struct io_uring_sqe *next_submission(struct lk_ring *ring) {
    uint32_t head = __atomic_load_n(ring->submission_head, __ATOMIC_ACQUIRE);
    if (ring->tail - head >= ring->submission_count) return NULL;
    uint32_t index = ring->tail & ring->submission_mask;
    char *submission = (char *)ring->submissions + (size_t)index * submission_size;
    memset(submission, 0, submission_size);
    ring->submission_array[index] = index;
    ring->tail += 1;
    ring->prepared += 1;
    return (struct io_uring_sqe *)submission;
}

static struct io_uring_sqe *next_command(struct lk_ring *ring, int device, uint32_t operation, uint16_t queue,
                                         uint64_t commit_id, uint64_t data) {
    struct io_uring_sqe *submission = next_submission(ring);
    if (submission == NULL) return NULL;
    submission->opcode = IORING_OP_URING_CMD;
    submission->fd = device;
    submission->cmd_op = operation;
    submission->user_data = data;
    struct command command = {.commit_id = commit_id, .queue = queue};
    memcpy((char *)submission + command_offset, &command, sizeof command);
    return submission;
}

bool lk_ring_fetch(struct lk_ring *ring, int device, uint16_t queue, const struct iovec parts[2], uint64_t data) {
    struct io_uring_sqe *submission = next_command(ring, device, command_register, queue, 0, data);
    if (submission == NULL) return false;
    submission->addr = (uint64_t)(uintptr_t)parts;
    submission->len = 2;
    return true;
}

bool lk_ring_commit(struct lk_ring *ring, int device, uint16_t queue, uint64_t commit_id, uint64_t data) {
    return next_command(ring, device, command_commit_and_fetch, queue, commit_id, data) != NULL;
}

bool lk_ring_poll(struct lk_ring *ring, int file, uint64_t data) {
    struct io_uring_sqe *submission = next_submission(ring);
    if (submission == NULL) return false;
    submission->opcode = IORING_OP_POLL_ADD;
    submission->fd = file;
    submission->poll32_events = 1;  // POLLIN
    submission->user_data = data;
    return true;
}

int lk_ring_enter(struct lk_ring *ring, uint32_t wanted) {
    __atomic_store_n(ring->submission_tail, ring->tail, __ATOMIC_RELEASE);
    // With GETEVENTS also if none is wanted: completions come only by a call.
    long count =
        syscall(SYS_io_uring_enter, ring->file, ring->prepared, wanted, IORING_ENTER_GETEVENTS, NULL, (size_t)0);
    if (count < 0) return errno;
    ring->prepared -= (uint32_t)count;
    return 0;
}

bool lk_ring_next(struct lk_ring *ring, uint64_t *data, int32_t *result) {
    uint32_t head = *ring->completion_head;
    if (head == __atomic_load_n(ring->completion_tail, __ATOMIC_ACQUIRE)) return false;
    const struct io_uring_cqe *completion =
        (const struct io_uring_cqe *)ring->completions + (head & ring->completion_mask);
    *data = completion->user_data;
    *result = completion->res;
    __atomic_store_n(ring->completion_head, head + 1, __ATOMIC_RELEASE);
    return true;
}

bool lk_run_on(uint32_t processor) {
    // Sized at run time: more processors than cpu_set_t holds are possible.
    cpu_set_t *set = CPU_ALLOC(processor + 1);
    if (set == NULL) return false;
    size_t size = CPU_ALLOC_SIZE(processor + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S(processor, size, set);
    bool done = sched_setaffinity(0, size, set) == 0;
    CPU_FREE(set);
    return done;
}
