import Glibc

/// A mutex for a value that many threads need at once, each for less than a microsecond.
///
/// `Synchronization.Mutex` hands itself over to the thread that has waited longest (FUTEX_LOCK_PI). If there are more
/// such threads than processors, each of them then waits until the next one has been woken. This one may be taken by
/// any thread that is running.
///
/// Source: pthread_mutexattr_settype(3), PTHREAD_MUTEX_ADAPTIVE_NP; futex(2).
@safe public final class ContendedMutex<Value>: @unchecked Sendable {
    // Unchecked because of `value`, which `lock` guards, and of the pointer, which never changes.
    // On the heap: a lock must not move.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    public init(_ value: sending Value) {
        unsafe lock = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        var result = unsafe pthread_mutexattr_init(&attributes)
        result |= unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
        result |= unsafe pthread_mutex_init(lock, &attributes)
        precondition(result == 0, "cannot make a lock")
        unsafe pthread_mutexattr_destroy(&attributes)
        self.value = value
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
    }

    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = unsafe pthread_mutex_lock(lock)
        precondition(result == 0, "cannot lock")
        defer { unsafe pthread_mutex_unlock(lock) }
        return try body(&value)
    }
}
