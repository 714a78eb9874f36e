import CFuse
import Posix

extension Incoming {
    /// The requests for what an inode is.
    func dispatchInode(_ opcode: Opcode) throws(Errno) {
        switch opcode {
        case .getattr:
            let fixed = try received.fixed(fuse_getattr_in.self)
            fileSystem.getattr(
                caller(), node, handle: HandleID(fixed.fh, if: fixed.getattr_flags & UInt32(FUSE_GETATTR_FH) != 0),
                reply: reply())
        case .statx:
            let fixed = try received.fixed(lk_fuse_statx_in.self)
            fileSystem.statx(
                caller(), node, handle: HandleID(fixed.fh, if: fixed.getattr_flags & UInt32(FUSE_GETATTR_FH) != 0),
                reply: reply())
        case .setattr:
            let fixed = try received.fixed(fuse_setattr_in.self)
            // FATTR_FH
            let handle = HandleID(fixed.fh, if: fixed.valid & 1 << 6 != 0)
            fileSystem.setattr(caller(), node, AttributeChanges(fixed), handle: handle, reply: reply())
        case .readlink: fileSystem.readlink(caller(), node, reply: reply())
        case .statfs: fileSystem.statfs(caller(), node, reply: reply())
        default: throw .ENOSYS
        }
    }
}

extension HandleID {
    fileprivate init?(_ value: UInt64, if isThere: Bool) {
        guard isThere else { return nil }
        self.init(rawValue: value)
    }
}
