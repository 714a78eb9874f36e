import CLinux
import Glibc

/// A lock of a range of a file's bytes, which belongs to an open file: it ends with the last duplicate of its
/// descriptor.
///
/// Source: fcntl(2), "Open file description locks".
public enum RangeLock: Sendable {
    /// Several open files may have one of the same bytes. The file must be open for reading.
    case shared
    /// No other open file has any lock of the bytes. The file must be open for writing.
    case exclusive

    fileprivate var type: Int32 {
        switch self {
        case .shared: Int32(F_RDLCK)
        case .exclusive: Int32(F_WRLCK)
        }
    }
}

/// A range of a file's bytes, from 0 to 2^63 - 2.
public struct ByteRange: Hashable, Sendable {
    public let start: Int64
    /// Behind the last byte; `Int64.max` for all bytes that a file can have.
    public let end: Int64

    /// Nil if the range is empty, or begins before the file.
    public init?(_ start: Int64, until end: Int64) {
        guard start >= 0, start < end else { return nil }
        (self.start, self.end) = (start, end)
    }

    /// One byte. `start` is from 0 to 2^63 - 2.
    public init(byte start: Int64) {
        precondition(start >= 0 && start < Int64.max, "no byte of a file")
        (self.start, end) = (start, start + 1)
    }

    /// As fcntl(2) has it: 0 for all bytes from `start` on.
    fileprivate var length: Int64 { end == .max ? 0 : end - start }
}

extension Descriptor {
    /// Locks the bytes for this open file; a lock of the other kind that it has of them is changed, in one step. With
    /// nil, it gives up what it has of them.
    ///
    /// - Returns: false if another open file has a lock that conflicts; then nothing has changed.
    public func lock(_ range: ByteRange, _ kind: RangeLock?) throws(Errno) -> Bool {
        do throws(Errno) {
            try perform { lk_lock_range(number, kind?.type ?? Int32(F_UNLCK), range.start, range.length) }
            return true
        } catch {
            // Either may be returned.
            guard error == .EAGAIN || error == .EACCES else { throw error }
            return false
        }
    }

    /// One of the locks of other open files that are in the way of such a lock; nil if none is.
    public func obstacle(to kind: RangeLock, of range: ByteRange) throws(Errno) -> (RangeLock, ByteRange)? {
        var (type, start, length) = (kind.type, range.start, range.length)
        try perform { unsafe lk_find_lock(number, &type, &start, &length) }
        guard type != Int32(F_UNLCK) else { return nil }
        let (end, isTooFar) = start.addingReportingOverflow(length)
        guard let found = ByteRange(start, until: length == 0 || isTooFar ? .max : end) else { throw .EIO }
        return (type == Int32(F_RDLCK) ? .shared : .exclusive, found)
    }
}
