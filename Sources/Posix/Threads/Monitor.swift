import CLinux
import Glibc

/// A value under a lock, with a condition on which threads wait for its change.
///
/// Thread-safe. The `body` closures must not call this object.
///
/// Source: pthread_mutex_lock(3), pthread_cond_wait(3).
@safe
package final class Monitor<Value>: @unchecked Sendable {
    // Unchecked: `mutex` protects `value`, and the pointers do not change.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Wakes no thread.
    package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&value)
    }

    /// Calls `body` at once and after each wakeup, until it returns a value; returns that.
    package func wait<Result>(_ body: (inout Value) -> Result?) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            unsafe pthread_cond_wait(condition, mutex)
        }
    }

    /// Likewise, but returns nil after so long: by the clock that stops while the machine is suspended.
    ///
    /// Source: pthread_cond_clockwait(3), CLOCK_MONOTONIC.
    @discardableResult
    package func wait<Result>(atMost time: Duration, _ body: (inout Value) -> Result?) -> Result? {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let (seconds, attoseconds) = (.seconds(now.tv_sec) + .nanoseconds(now.tv_nsec) + time as Duration).components
        let end = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            if unsafe lk_condition_wait(condition, mutex, end) == ETIMEDOUT {
                return body(&value)
            }
        }
    }

    /// Makes one waiting thread look at the value again.
    package func wakeOne() { unsafe pthread_cond_signal(condition) }

    /// Makes all waiting threads look at the value again.
    package func wakeAll() { unsafe pthread_cond_broadcast(condition) }
}
