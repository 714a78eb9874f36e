/// A mutex for a value that many threads need at once, usually for less than a microsecond.
///
/// `Synchronization.Mutex` hands itself over to the thread that has waited longest (FUTEX_LOCK_PI). If there are more
/// such threads than processors, each of them then waits until the next one has been woken. This one may be taken by
/// any thread that is running.
///
/// Source: pthread_mutexattr_settype(3), PTHREAD_MUTEX_ADAPTIVE_NP; futex(2).
@safe public final class ContendedMutex<Value>: @unchecked Sendable {
    // Unchecked: `mutex` protects `value`, and does not change.
    private let mutex = PthreadMutex(.adaptive)
    private var value: Value

    public init(_ value: sending Value) { self.value = value }

    deinit { mutex.destroy() }

    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        mutex.lock()
        defer { mutex.unlock() }
        return try body(&value)
    }
}
