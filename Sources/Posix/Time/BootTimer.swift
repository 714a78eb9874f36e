import CLinux
import Glibc

/// The clock that counts from boot, including the time that the machine is suspended.
///
/// Source: CLOCK_BOOTTIME, clock_gettime(2).
public enum BootClock {
    /// The time since boot.
    public static var now: Duration {
        var now = timespec()
        // Cannot fail: the clock exists since Linux 2.6.39, and `now` is writable.
        _ = unsafe lk_boot_now(&now)
        return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }
}

extension Duration {
    /// Whole nanoseconds; an Int64 holds 292 years of them.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// A one-shot timer on the boot clock, as a descriptor to wait for.
///
/// Any thread may arm and disarm it while another waits for it.
///
/// Source: timerfd_create(2).
public final class BootTimer: Sendable {
    /// Readable from the deadline until `acknowledge` or `disarm`.
    public let descriptor: Descriptor

    public init() throws(Errno) {
        descriptor = Descriptor(owning: try call { lk_boot_timer() })
    }

    /// Fires at a time of `BootClock`; at once if that has passed. Replaces an earlier deadline.
    public func arm(at deadline: Duration) throws(Errno) {
        let (seconds, attoseconds) = deadline.components
        var time = timespec(tv_sec: Int(max(seconds, 0)), tv_nsec: Int(max(attoseconds, 0) / 1_000_000_000))
        // Zero would disarm the timer.
        if time.tv_sec == 0, time.tv_nsec == 0 { time.tv_nsec = 1 }
        try perform { lk_boot_timer_set(descriptor.number, time) }
    }

    public func disarm() throws(Errno) {
        try perform { lk_boot_timer_set(descriptor.number, timespec()) }
    }

    /// True, once for each arming, if the deadline has passed. Does not block.
    public func acknowledge() throws(Errno) -> Bool {
        var expirations: UInt64 = 0
        do throws(Errno) {
            _ = try call { unsafe read(descriptor.number, &expirations, MemoryLayout<UInt64>.size) }
            return true
        } catch .EAGAIN {
            return false
        }
    }
}
