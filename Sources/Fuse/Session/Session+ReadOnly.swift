import CFuse
import Glibc

extension Session {
    /// Answers EROFS to a request that would change something, if the file system is read-only. False for all others,
    /// which the file system answers.
    ///
    /// The kernel refuses changes of a mount with the option `ro` by itself, until root remounts it with `rw`: it does
    /// not ask the file system before that.
    ///
    /// - Parameter request: as the kernel sent it.
    func refusesChange(_ raw: OpaquePointer, _ request: lk_fuse_worker) -> Bool {
        guard configuration.isReadOnly, unsafe Self.isChange(request) else { return false }
        let header = unsafe request.bytes!.loadUnaligned(as: fuse_in_header.self)
        let size = MemoryLayout<fuse_out_header>.size
        var answer = fuse_out_header(len: UInt32(size), error: -EROFS, unique: header.unique)
        // As with any reply: if the request was interrupted, or the connection has ended, there is nothing to undo.
        _ = unsafe Glibc.write(fuse_session_fd(raw), &answer, size)
        return true
    }

    private static func isChange(_ request: lk_fuse_worker) -> Bool {
        switch fuse_opcode(unsafe request.opcode) {
        case FUSE_SETATTR, FUSE_SYMLINK, FUSE_MKNOD, FUSE_MKDIR, FUSE_UNLINK, FUSE_RMDIR, FUSE_RENAME, FUSE_RENAME2,
            FUSE_LINK, FUSE_WRITE, FUSE_SETXATTR, FUSE_REMOVEXATTR, FUSE_CREATE, FUSE_TMPFILE, FUSE_FALLOCATE,
            FUSE_COPY_FILE_RANGE:
            return true
        case FUSE_OPEN:
            let received: fuse_open_in? = ReceivedBody.current()
            let flags = Int32(bitPattern: received?.flags ?? 0)
            return flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0
        default:
            return false
        }
    }
}
