// When two threads contend for a Swift Mutex, libswiftSynchronization hands it over, and the thread sanitizer does not
// see that, because this library is not instrumented. In a program that is built for the sanitizer, these functions
// come before those of the library, call them, and tell the sanitizer that an unlock happens before the next lock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

typedef SWIFT void lock_slow(uint32_t thread, SELF);
typedef SWIFT bool try_lock_slow(SELF);
typedef SWIFT void unlock_slow(SELF);

// Synchronization._MutexHandle._lockSlow(UInt32)
SWIFT void mutex_lock_slow(uint32_t thread, SELF) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void mutex_lock_slow(uint32_t thread, SELF) {
    static lock_slow *next;
    if (next == 0) next = (lock_slow *)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    next(thread, self);
    __tsan_acquire(self);
}

// Synchronization._MutexHandle._tryLockSlow()
SWIFT bool mutex_try_lock_slow(SELF) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
SWIFT bool mutex_try_lock_slow(SELF) {
    static try_lock_slow *next;
    if (next == 0) next = (try_lock_slow *)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
    bool isLocked = next(self);
    if (isLocked) __tsan_acquire(self);
    return isLocked;
}

// Synchronization._MutexHandle._unlockSlow()
SWIFT void mutex_unlock_slow(SELF) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
SWIFT void mutex_unlock_slow(SELF) {
    static unlock_slow *next;
    if (next == 0) next = (unlock_slow *)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    __tsan_release(self);
    next(self);
}
