import Glibc

/// A moment on CLOCK_MONOTONIC until which a call may wait.
struct Deadline: Sendable {
    private let nanoseconds: Int64?

    static let never = Deadline(nanoseconds: nil)

    static func after(seconds: Double) -> Deadline {
        Deadline(nanoseconds: now + Int64(seconds * 1e9))
    }

    private init(nanoseconds: Int64?) {
        self.nanoseconds = nanoseconds
    }

    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The time that is left, for poll(2): milliseconds rounded up, 0 if it is over, -1 for no deadline.
    var pollTimeout: Int32 {
        guard let nanoseconds else { return -1 }
        return Int32(clamping: max(0, (nanoseconds - Self.now + 999_999) / 1_000_000))
    }
}
