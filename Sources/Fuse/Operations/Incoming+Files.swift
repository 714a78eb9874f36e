import CFuse
import Glibc
import Posix

extension Incoming {
    /// The requests for regular files.
    func dispatchFile(_ opcode: Opcode) throws(Errno) {
        switch opcode {
        case .open:
            let fixed = try received.fixed(fuse_open_in.self)
            fileSystem.open(
                caller(), node, flags: Int32(bitPattern: fixed.flags),
                dropsPrivileges: fixed.open_flags & UInt32(FUSE_OPEN_KILL_SUIDGID) != 0, reply: reply())
        case .read:
            let fixed = try received.fixed(fuse_read_in.self)
            fileSystem.read(
                caller(), node, handle: HandleID(rawValue: fixed.fh), offset: Int64(bitPattern: fixed.offset),
                size: Int(fixed.size), reply: reply(limit: Int(fixed.size)))
        case .write: try write()
        case .flush:
            let fixed = try received.fixed(fuse_flush_in.self)
            fileSystem.flush(
                caller(), node, handle: HandleID(rawValue: fixed.fh), owner: LockOwner(rawValue: fixed.lock_owner),
                reply: reply())
        case .release:
            let fixed = try received.fixed(fuse_release_in.self)
            fileSystem.release(
                caller(), node, handle: HandleID(rawValue: fixed.fh), flags: Int32(bitPattern: fixed.flags),
                unlocking: fixed.release_flags & UInt32(FUSE_RELEASE_FLOCK_UNLOCK) == 0
                    ? nil : LockOwner(rawValue: fixed.lock_owner),
                reply: reply())
        case .fsync:
            let fixed = try received.fixed(fuse_fsync_in.self)
            fileSystem.fsync(
                caller(), node, handle: HandleID(rawValue: fixed.fh), dataOnly: fixed.isDataOnly, reply: reply())
        case .fallocate:
            let fixed = try received.fixed(fuse_fallocate_in.self)
            fileSystem.fallocate(
                caller(), node, handle: HandleID(rawValue: fixed.fh), mode: Int32(bitPattern: fixed.mode),
                offset: Int64(bitPattern: fixed.offset), length: Int64(bitPattern: fixed.length), reply: reply())
        case .lseek:
            let fixed = try received.fixed(fuse_lseek_in.self)
            fileSystem.lseek(
                caller(), node, handle: HandleID(rawValue: fixed.fh), offset: Int64(bitPattern: fixed.offset),
                whence: Int32(bitPattern: fixed.whence), reply: reply())
        default: throw .ENOSYS
        }
    }

    private func write() throws(Errno) {
        let (fixed, arguments) = try received.parts(fuse_write_in.self)
        let bytes = unsafe arguments.bytes
        guard bytes.count >= Int(fixed.size) else { throw .EIO }
        var flags: WriteFlags = fixed.write_flags & UInt32(FUSE_WRITE_CACHE) != 0 ? .page : []
        if fixed.write_flags & UInt32(FUSE_WRITE_KILL_SUIDGID) != 0 { flags.insert(.dropsPrivileges) }
        if Int32(bitPattern: fixed.flags) & O_APPEND != 0 { flags.insert(.append) }
        let contents = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[..<Int(fixed.size)]))
        fileSystem.write(
            caller(), contents, to: node, handle: HandleID(rawValue: fixed.fh),
            offset: Int64(bitPattern: fixed.offset), flags: flags, reply: reply())
    }
}

extension fuse_fsync_in {
    var isDataOnly: Bool { fsync_flags & UInt32(FUSE_FSYNC_FDATASYNC) != 0 }
}
