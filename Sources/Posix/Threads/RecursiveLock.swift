/// A lock that its holder may take again.
///
/// Source: pthread_mutexattr_settype(3), PTHREAD_MUTEX_RECURSIVE.
@safe public final class RecursiveLock: Sendable {
    private let mutex = PthreadMutex(.recursive)

    public init() {}

    deinit { mutex.destroy() }

    public func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        mutex.lock()
        defer { mutex.unlock() }
        return try body()
    }
}
