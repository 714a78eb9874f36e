#define _GNU_SOURCE
#include "Counter.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_uint_fast64_t allocations;
static atomic_uint_fast64_t retains;
static atomic_uint_fast64_t locks;

uint64_t counted_allocations(void) { return atomic_load(&allocations); }
uint64_t counted_retains(void) { return atomic_load(&retains); }
uint64_t counted_locks(void) { return atomic_load(&locks); }

// A sanitizer replaces malloc(3) and locks itself, and calls malloc(3) before its own beginning has ended.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

// These replace malloc(3) and its kin in the whole program, shared libraries included.
#ifndef IS_SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? 12 : 0;
}

// These replace the functions of pthread_rwlock_rdlock(3) and its kin in the whole program.
typedef int (*lock_function)(pthread_rwlock_t *);

static int counting_lock(const char *name, pthread_rwlock_t *lock) {
    atomic_fetch_add_explicit(&locks, 1, memory_order_relaxed);
    return ((lock_function)dlsym(RTLD_NEXT, name))(lock);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) { return counting_lock("pthread_rwlock_rdlock", lock); }
int pthread_rwlock_wrlock(pthread_rwlock_t *lock) { return counting_lock("pthread_rwlock_wrlock", lock); }
#endif

// The runtime calls through these pointers once another function has been stored in them.
typedef void *(*retain)(void *);
typedef void *(*retain_many)(void *, uint32_t);
static retain retain_one;
static retain_many retain_several;

static void *counting_retain(void *object) {
    atomic_fetch_add_explicit(&retains, 1, memory_order_relaxed);
    return retain_one(object);
}

static void *counting_retain_many(void *object, uint32_t count) {
    atomic_fetch_add_explicit(&retains, 1, memory_order_relaxed);
    return retain_several(object, count);
}

int count_retains(void) {
    retain *one = dlsym(RTLD_DEFAULT, "_swift_retain");
    retain_many *several = dlsym(RTLD_DEFAULT, "_swift_retain_n");
    atomic_bool *enabled =
        dlsym(RTLD_DEFAULT, "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly");
    if (one == NULL || several == NULL || enabled == NULL) return 0;
    retain_one = *one;
    retain_several = *several;
    *one = counting_retain;
    *several = counting_retain_many;
    atomic_store(enabled, 1);
    return 1;
}
