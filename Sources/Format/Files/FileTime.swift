/// A time of a file: seconds and nanoseconds since 1970.
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
    /// What stat(2) shows for a backing file whose own time is `backing`.
    ///
    /// Whoever writes the header gives the backing file a time that says so to those who go by it, and keeps here what
    /// the user's file shows. Any other time is that of a write which no header has followed yet.
    public func shownTime(of backing: FileTime) -> FileTime {
        backing == FileTime(seconds: stamp, nanoseconds: 0) ? modified : backing
    }

    /// What stat(2) shows as the time of change of a backing file whose own is `backing`: writing the header has moved
    /// that, to a moment right behind `written`. Any other is that of a change that the user has made.
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

    /// Whether a change that is made now is one that `shownChange` does not tell from the writing of this header.
    public func hidesChange(now: FileTime) -> Bool {
        let (seconds, isFar) = now.seconds.subtractingReportingOverflow(written.seconds)
        // The clocks of file systems are coarse.
        return !isFar && (-1...2).contains(seconds)
    }

    /// So far ahead of the clock stamps run when a file is closed again and again.
    static let furthestStamp: Int64 = 3600
    /// A time so far ahead comes from another clock.
    static let foreignStamp: Int64 = 86_400

    /// The stamp of a header that is written now.
    ///
    /// rsync and its like take a file of the same size and the same whole second for the same, or, where FAT is one of
    /// the sides, of two seconds: each header that is written gives the backing file a time two seconds or more from
    /// what it had, and an even one, so that any copy made before differs. A file that is closed 1,000 times a second
    /// does not run away: an hour ahead of the clock its headers go to the journal, and the checkpoint that follows
    /// then, once for all of them, goes on.
    ///
    /// - Parameters:
    ///   - seen: seconds that copies can have seen here: the latest one counts.
    ///   - now: the clock's second.
    /// - Returns: an even number.
    public static func stamp(after seen: [Int64], now: Int64) -> Int64 {
        let last = seen.filter { $0 < now + foreignStamp }.max() ?? now
        return evenSecond(from: last < now - 1 ? now : last + 2)
    }

    /// Whether a file that has this stamp gets another one only when it is checkpointed.
    public static func isSpent(_ stamp: Int64, now: Int64) -> Bool {
        (now + furthestStamp..<now + foreignStamp).contains(stamp)
    }

    /// The first second from this one on that a store tells which counts in twos.
    public static func evenSecond(from second: Int64) -> Int64 { second + (second & 1) }
}
