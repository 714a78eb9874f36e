import Glibc

/// A lock that its holder may take again.
///
/// Source: pthread_mutexattr_settype(3), PTHREAD_MUTEX_RECURSIVE.
@safe public final class RecursiveLock: @unchecked Sendable {
    // Unchecked because of the pointer, which never changes; its target is made for sharing between threads.
    // On the heap: a lock must not move.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>

    public init() {
        unsafe lock = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        var result = unsafe pthread_mutexattr_init(&attributes)
        result |= unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        result |= unsafe pthread_mutex_init(lock, &attributes)
        precondition(result == 0, "cannot make a lock")
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
    }

    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = unsafe pthread_mutex_lock(lock)
        precondition(result == 0, "cannot lock")
        defer { unsafe pthread_mutex_unlock(lock) }
        return try body()
    }
}
