import Glibc

/// A point in time as file systems store it: seconds and nanoseconds since 1970.
public struct Timespec: Hashable, Sendable, Comparable {
    public var seconds: Int64
    /// 0 to 999,999,999, also before 1970.
    public var nanoseconds: Int64

    public init(seconds: Int64, nanoseconds: Int64) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    public init(_ time: timespec) {
        self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    public var timespec: timespec { Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds)) }

    public static func < (left: Timespec, right: Timespec) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

/// The change of one of a file's times.
public enum TimeChange: Hashable, Sendable {
    case keep
    case now
    case at(Timespec)

    /// Source: utimensat(2).
    var timespec: timespec {
        switch self {
        case .keep: Glibc.timespec(tv_sec: 0, tv_nsec: UTIME_OMIT)
        case .now: Glibc.timespec(tv_sec: 0, tv_nsec: UTIME_NOW)
        case .at(let time): time.timespec
        }
    }
}

extension Timespec {
    /// Source: clock_gettime(2), CLOCK_REALTIME.
    public static var now: Timespec {
        var time = Glibc.timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timespec(time)
    }

    /// Never later than any ctime that a file system on this machine assigns from now on: those use the coarse clock.
    ///
    /// Source: clock_gettime(2), CLOCK_REALTIME_COARSE.
    public static var tick: Timespec {
        var time = Glibc.timespec()
        unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Timespec(time)
    }
}
