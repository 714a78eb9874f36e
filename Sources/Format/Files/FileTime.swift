/// A file's time: seconds and nanoseconds since 1970.
public struct FileTime: Hashable, Comparable, Sendable {
    public var seconds: Int64
    /// Below 10^9, also before 1970.
    public var nanoseconds: UInt32

    public static let zero = FileTime(seconds: 0, nanoseconds: 0)

    public init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    public static func < (one: FileTime, other: FileTime) -> Bool {
        (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
    }
}

extension FileHeader {
    /// The time of modification that stat(2) shows if the backing file's own is `backing`.
    ///
    /// A write of the header sets the backing file's time to the stamp, which tells copiers of the change; the header
    /// has the time that the user's file shows. Any other time comes from a write that no header has followed yet.
    public func shownTime(of backing: FileTime) -> FileTime {
        backing == FileTime(seconds: stamp, nanoseconds: 0) ? modified : backing
    }

    /// The time of change that stat(2) shows if the backing file's own is `backing`. A write of the header moves the
    /// backing file's to just after `written`. Any other time is that of a change by the user.
    public func shownChange(of backing: FileTime) -> FileTime {
        Self.shownChange(of: backing, written: written, changed: changed)
    }

    static func shownChange(of backing: FileTime, written: FileTime, changed: FileTime) -> FileTime {
        let (end, isPast) = written.seconds.addingReportingOverflow(1)
        guard written <= backing, isPast || backing <= FileTime(seconds: end, nanoseconds: written.nanoseconds) else {
            return backing
        }
        return changed
    }

    /// Whether `shownChange` would take a change that is made now for the write of this header.
    public func hidesChange(now: FileTime) -> Bool {
        let (seconds, isFar) = now.seconds.subtractingReportingOverflow(written.seconds)
        // The clocks of file systems are coarse.
        return !isFar && (-1...2).contains(seconds)
    }

    /// A stamp may be this far ahead of the clock, in seconds, if a file is closed again and again.
    static let furthestStamp: Int64 = 3600
    /// A time that is this far ahead, in seconds, comes from another clock.
    package static let foreignStamp: Int64 = 86_400

    /// The stamp of a header that is written now.
    ///
    /// rsync and others take a file of the same size and the same second for unchanged; with FAT on one side, of the
    /// same two seconds. So each header gives the backing file a time that is even and at least two seconds from its
    /// last one. Times of a file that is closed 1,000 times a second run at most an hour ahead: then its headers go to
    /// the journal, and the next checkpoint stamps all of them at once.
    ///
    /// - Parameters:
    ///   - seen: times in seconds that copies may have seen here; the latest counts.
    ///   - now: the clock's second.
    /// - Returns: an even number.
    public static func stamp(after seen: [Int64], now: Int64) -> Int64 {
        let last = seen.filter { $0 < now + foreignStamp }.max() ?? now
        return evenSecond(from: last < now - 1 ? now : last + 2)
    }

    /// Whether a file with this stamp gets a new one only from a checkpoint.
    public static func isSpent(_ stamp: Int64, now: Int64) -> Bool {
        (now + furthestStamp..<now + foreignStamp).contains(stamp)
    }

    /// The first even second from this one on: a store with times of two seconds keeps it.
    public static func evenSecond(from second: Int64) -> Int64 { second + (second & 1) }
}
