import CFuse
import Posix

extension Incoming {
    /// The requests for open directories.
    func dispatchDirectory(_ opcode: Opcode) throws(Errno) {
        switch opcode {
        case .opendir:
            let fixed = try received.fixed(fuse_open_in.self)
            fileSystem.opendir(caller(), node, flags: Int32(bitPattern: fixed.flags), reply: reply())
        case .readdir:
            let fixed = try received.fixed(fuse_read_in.self)
            fileSystem.readdir(
                caller(), node, handle: HandleID(rawValue: fixed.fh), offset: Int64(bitPattern: fixed.offset),
                size: Int(fixed.size), reply: reply(limit: Int(fixed.size)))
        case .readdirplus:
            let fixed = try received.fixed(fuse_read_in.self)
            fileSystem.readdirplus(
                caller(), node, handle: HandleID(rawValue: fixed.fh), offset: Int64(bitPattern: fixed.offset),
                size: Int(fixed.size), reply: reply(limit: Int(fixed.size)))
        case .releasedir:
            let fixed = try received.fixed(fuse_release_in.self)
            fileSystem.releasedir(caller(), node, handle: HandleID(rawValue: fixed.fh), reply: reply())
        case .fsyncdir:
            let fixed = try received.fixed(fuse_fsync_in.self)
            fileSystem.fsyncdir(
                caller(), node, handle: HandleID(rawValue: fixed.fh), dataOnly: fixed.isDataOnly, reply: reply())
        default: throw .ENOSYS
        }
    }
}
