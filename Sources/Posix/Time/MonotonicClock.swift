import Glibc

/// The clock that counts from boot, without the time that the machine is suspended: for how long something else has
/// had the chance to answer.
///
/// Source: CLOCK_MONOTONIC, clock_gettime(2).
package enum MonotonicClock {
    package static var now: Duration {
        var now = timespec()
        // Cannot fail: the clock always exists, and `now` is writable.
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }
}
