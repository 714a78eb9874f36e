import Glibc

/// A lock for many readers or one writer. A waiting writer takes precedence over new readers.
///
/// Not recursive: a thread that holds it shared and locks it again deadlocks if a writer waits. The thread that locks
/// it must unlock it.
///
/// Source: pthread_rwlock_rdlock(3), pthread_rwlockattr_setkind_np(3).
@safe public final class ReadWriteLock: @unchecked Sendable {
    // Unchecked because of the pointer, which never changes; its target is made for sharing between threads.
    // On the heap: a lock must not move.
    private let lock: UnsafeMutablePointer<pthread_rwlock_t>

    public init() {
        unsafe lock = .allocate(capacity: 1)
        var attributes = pthread_rwlockattr_t()
        var result = unsafe pthread_rwlockattr_init(&attributes)
        // The default prefers readers: under a steady load of reads, a writer would never get the lock of a class.
        result |= unsafe pthread_rwlockattr_setkind_np(
            &attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        result |= unsafe pthread_rwlock_init(lock, &attributes)
        precondition(result == 0, "cannot make a lock")
        unsafe pthread_rwlockattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_rwlock_destroy(lock)
        unsafe lock.deallocate()
    }

    public func lockShared() {
        let result = unsafe pthread_rwlock_rdlock(lock)
        precondition(result == 0, "held exclusively by this thread already")
    }

    public func unlockShared() {
        unsafe pthread_rwlock_unlock(lock)
    }

    public func lockExclusive() {
        let result = unsafe pthread_rwlock_wrlock(lock)
        precondition(result == 0, "held by this thread already")
    }

    /// Takes the lock and returns true if no thread holds it, including the calling one.
    ///
    /// Source: pthread_rwlock_trywrlock(3).
    public func tryLockExclusive() -> Bool {
        unsafe pthread_rwlock_trywrlock(lock) == 0
    }

    public func unlockExclusive() {
        unsafe pthread_rwlock_unlock(lock)
    }

    public func withShared<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lockShared()
        defer { unlockShared() }
        return try body()
    }

    public func withExclusive<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lockExclusive()
        defer { unlockExclusive() }
        return try body()
    }
}
