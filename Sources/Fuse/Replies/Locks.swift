import CFuse
import Glibc
public import Posix

/// Who has locks: a process for those of fcntl(2), an open file for those of flock(2). Chosen by the kernel.
public struct LockOwner: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A call of fcntl(2) or flock(2) that takes locks, or gives them up.
public struct LockRequest: Sendable {
    /// Nil gives up what the owner has of the range.
    public let kind: RangeLock?
    public let range: ByteRange
    public let owner: LockOwner
    /// flock(2): its locks and those of fcntl(2) do not concern each other.
    public let isOfWholeFile: Bool
    /// Whether the program waits until the lock can be had.
    public let waits: Bool
}

/// A lock of a file that a program asks for by F_GETLK.
public struct FoundLock: Sendable {
    public let kind: RangeLock
    public let range: ByteRange

    public init(kind: RangeLock, range: ByteRange) { (self.kind, self.range) = (kind, range) }
}

extension Reply where Value == FoundLock? {
    /// Answers with the lock that is in the way, or with nil if none is. Whose it is stays unknown: process 0.
    @discardableResult
    public consuming func succeed(_ lock: FoundLock?) -> Bool {
        var out = fuse_lk_out()
        out.lk.type = UInt32(F_UNLCK)
        if let lock {
            out.lk.type = UInt32(lock.kind == .shared ? F_RDLCK : F_WRLCK)
            out.lk.start = UInt64(lock.range.start)
            out.lk.end = lock.range.end == .max ? UInt64(Int64.max) : UInt64(lock.range.end - 1)
        }
        return released().answer(with: out)
    }
}
