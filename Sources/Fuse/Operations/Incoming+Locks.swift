import CFuse
import Glibc
import Posix

extension Incoming {
    /// The requests for locks, which come only with `Configuration.Locks.byFileSystem`.
    func dispatchLock(_ opcode: Opcode) throws(Errno) {
        let fixed = try received.fixed(fuse_lk_in.self)
        guard let range = ByteRange(fixed.lk) else { throw .EINVAL }
        let owner = LockOwner(rawValue: fixed.owner)
        let handle = HandleID(rawValue: fixed.fh)
        let kind = try RangeLock?(fixed.lk)
        if opcode == .getlk {
            guard let kind else { throw .EINVAL }
            return fileSystem.obstacle(
                caller(), node, handle: handle, to: kind, of: range, owner: owner, reply: reply())
        }
        fileSystem.lock(
            caller(), node, handle: handle,
            LockRequest(
                kind: kind, range: range, owner: owner,
                isOfWholeFile: fixed.lk_flags & UInt32(FUSE_LK_FLOCK) != 0, waits: opcode == .setlkw), reply: reply())
    }
}

extension ByteRange {
    /// The kernel names the last byte, which is the largest offset for a lock up to the end of the file.
    fileprivate init?(_ lock: fuse_file_lock) {
        guard let start = Int64(exactly: lock.start), let last = Int64(exactly: lock.end) else { return nil }
        self.init(start, until: last == .max ? .max : last + 1)
    }
}

extension RangeLock? {
    fileprivate init(_ lock: fuse_file_lock) throws(Errno) {
        switch Int32(bitPattern: lock.type) {
        case Int32(F_RDLCK): self = .shared
        case Int32(F_WRLCK): self = .exclusive
        case Int32(F_UNLCK): self = nil
        default: throw .EINVAL
        }
    }
}
