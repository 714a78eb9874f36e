#define _GNU_SOURCE
#include "CCrypto.h"
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// OpenSSL keeps only what it knows to be a key in its secure heap: expanded AES keys and HMAC states are in ordinary
// memory. These functions move all of its allocations into the arena.

static atomic_bool arena_is_ready;
// Any allocation in the arena: it leads to the arena's mapping.
static void *arena_piece;

static void *allocate(size_t count, const char *file, int line) {
    if (count == 0) return NULL;
    // Setting up the arena allocates its own lock and tables, for which CRYPTO_secure_malloc would call this again.
    if (!atomic_load_explicit(&arena_is_ready, memory_order_acquire)) return calloc(1, count);
    return CRYPTO_secure_malloc(count, file, line);
}

static void release(void *bytes, const char *file, int line) {
    if (bytes == NULL) return;
    if (CRYPTO_secure_allocated(bytes)) {
        CRYPTO_secure_free(bytes, file, line); // wipes the whole cell
    } else {
        OPENSSL_cleanse(bytes, malloc_usable_size(bytes));
        free(bytes);
    }
}

// Never realloc(3), which would leave a copy of the old bytes behind.
static void *resize(void *old, size_t count, const char *file, int line) {
    if (old == NULL) return allocate(count, file, line);
    if (count == 0) {
        release(old, file, line);
        return NULL;
    }
    size_t room = CRYPTO_secure_allocated(old) ? CRYPTO_secure_actual_size(old) : malloc_usable_size(old);
    if (count <= room) return old;
    void *fresh = allocate(count, file, line);
    if (fresh == NULL) return NULL;
    memcpy(fresh, old, room);
    release(old, file, line);
    return fresh;
}

int lk_secure_heap_start(size_t size) {
    if (CRYPTO_set_mem_functions(allocate, resize, release) != 1) return LK_HEAP_TOO_LATE;
    int result = CRYPTO_secure_malloc_init(size, 32);
    if (result == 2) return LK_HEAP_UNPROTECTED;
    if (result != 1) return LK_HEAP_NO_MEMORY;
    arena_piece = OPENSSL_secure_zalloc(1);
    if (arena_piece == NULL) return LK_HEAP_NO_MEMORY;
    atomic_store_explicit(&arena_is_ready, 1, memory_order_release);

    // No configuration file: OPENSSL_CONF could load foreign code into a process full of keys. No cleanup at exit,
    // because other threads may still be running then.
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
        return LK_HEAP_NO_MEMORY;
    return LK_HEAP_LOCKED;
}

// A thread that uses wiped memory would crash the process at once: before the mount and the socket are removed, and
// before the client has its answer. So it stops here until the process ends.
_Noreturn static void stand_still(int signal) {
    (void)signal;
    for (;;) pause();
}

void lk_stand_still(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    stand_still(0);
}

static void park_faulting_threads(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};
    struct sigaction action = {.sa_handler = stand_still};
    sigfillset(&action.sa_mask);
    for (size_t index = 0; index < sizeof faults / sizeof *faults; index++) sigaction(faults[index], &action, NULL);
}

int lk_secure_wipe_everything(void) {
    // A second call must not touch the heap, whose tables are gone.
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int is_done = 0;
    pthread_mutex_lock(&lock);
    FILE *maps = is_done ? NULL : fopen("/proc/self/maps", "re");
    // OpenSSL does not say where its arena is; the kernel says which mapping contains an allocation of it.
    uintptr_t piece = (uintptr_t)arena_piece;
    char line[512];
    while (!is_done && maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t first, end;
        if (sscanf(line, "%lx-%lx rw", &first, &end) != 2 || piece < first || piece >= end) continue;
        park_faulting_threads();
        // From here on no function of OpenSSL may be called: its tables are gone.
        OPENSSL_cleanse((void *)first, end - first);
        is_done = 1;
    }
    if (maps != NULL) fclose(maps);
    int result = is_done;
    pthread_mutex_unlock(&lock);
    return result;
}

void *lk_secure_allocate(size_t count) {
    return OPENSSL_secure_zalloc(count == 0 ? 1 : count);
}

void lk_secure_release(void *bytes, size_t count) {
    OPENSSL_secure_clear_free(bytes, count);
}
