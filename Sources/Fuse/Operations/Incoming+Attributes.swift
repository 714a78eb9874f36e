import CFuse
import Posix

extension Incoming {
    /// The requests for extended attributes.
    func dispatchAttribute(_ opcode: Opcode) throws(Errno) {
        switch opcode {
        case .setxattr: try setAttribute()
        case .getxattr:
            var (fixed, arguments) = try received.parts(fuse_getxattr_in.self)
            let name = unsafe Array(try arguments.string())
            fileSystem.getxattr(caller(), node, name, reply: reply(limit: Int(fixed.size)))
        case .listxattr:
            let fixed = try received.fixed(fuse_getxattr_in.self)
            fileSystem.listxattr(caller(), node, reply: reply(limit: Int(fixed.size)))
        case .removexattr:
            var arguments = received.arguments
            let name = unsafe Array(try arguments.string())
            fileSystem.removexattr(caller(), node, name, reply: reply())
        default: throw .ENOSYS
        }
    }

    private func setAttribute() throws(Errno) {
        var fixed: fuse_setxattr_in
        var arguments: Arguments
        if session.isAttributeExtended {
            (fixed, arguments) = try received.parts()
        } else {
            let (short, rest) = try received.parts(ShortSetAttribute.self)
            fixed = fuse_setxattr_in(size: short.size, flags: short.flags, setxattr_flags: 0, padding: 0)
            arguments = rest
        }
        let name = unsafe Array(try arguments.string())
        let bytes = unsafe arguments.bytes
        guard bytes.count >= Int(fixed.size) else { throw .EIO }
        let value = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[..<Int(fixed.size)]))
        fileSystem.setxattr(
            caller(), node, name, value: value, flags: Int32(bitPattern: fixed.flags),
            dropsSetGroupID: fixed.setxattr_flags & UInt32(FUSE_SETXATTR_ACL_KILL_SGID) != 0, reply: reply())
    }
}

/// struct fuse_setxattr_in without FUSE_SETXATTR_EXT.
private struct ShortSetAttribute: BitwiseCopyable {
    let size, flags: UInt32
}
