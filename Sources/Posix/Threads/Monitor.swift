import Glibc

/// A value under a lock, with a condition on which threads wait for its change.
///
/// Thread-safe. The `body` closures must not call this object.
///
/// Source: pthread_mutex_lock(3), pthread_cond_wait(3), pthread_condattr_setclock(3).
@safe
package final class Monitor<Value>: @unchecked Sendable {
    // Unchecked: `mutex` protects `value`, and neither it nor the pointer changes.
    private let mutex = PthreadMutex()
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        unsafe condition = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // A change of the wall clock must not make a bounded wait longer.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe condition.deallocate()
        mutex.destroy()
    }

    /// Wakes no thread.
    package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        mutex.lock()
        defer { mutex.unlock() }
        return body(&value)
    }

    /// Calls `body` at once and after each wakeup, until it returns a value; returns that.
    package func wait<Result>(_ body: (inout Value) -> Result?) -> Result {
        mutex.lock()
        defer { mutex.unlock() }
        while true {
            if let result = body(&value) { return result }
            unsafe pthread_cond_wait(condition, mutex.pointer)
        }
    }

    /// As `wait`, but returns nil once `limit` is not positive.
    ///
    /// - Parameter limit: how much longer the thread may wait, nil for as long as it takes. Asked before each wait.
    package func wait<Result>(atMost limit: () -> Duration?, _ body: (inout Value) -> Result?) -> Result? {
        mutex.lock()
        defer { mutex.unlock() }
        while true {
            if let result = body(&value) { return result }
            guard let left = limit() else {
                unsafe pthread_cond_wait(condition, mutex.pointer)
                continue
            }
            guard left > .zero else { return nil }
            var end = MonotonicClock.now + left
            var time = timespec()
            (time.tv_sec, end) = (Int(end.components.seconds), end - .seconds(end.components.seconds))
            time.tv_nsec = Int(end.components.attoseconds / 1_000_000_000)
            unsafe pthread_cond_timedwait(condition, mutex.pointer, &time)
        }
    }

    /// Makes one waiting thread look at the value again.
    package func wakeOne() { unsafe pthread_cond_signal(condition) }

    /// Makes all waiting threads look at the value again.
    package func wakeAll() { unsafe pthread_cond_broadcast(condition) }

    /// The same for what is not in the value, such as a limit that has changed: no thread misses it between its look
    /// and its wait.
    package func wakeAllForLimit() {
        withLock { _ in }
        wakeAll()
    }
}
