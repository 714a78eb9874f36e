import CFuse
import Posix

extension Incoming {
    /// The requests for a name in a directory, which is the node of the request.
    func dispatchName(_ opcode: Opcode) throws(Errno) {
        switch opcode {
        case .lookup: try lookup()
        case .mknod:
            let (fixed, name) = try named(fuse_mknod_in.self)
            fileSystem.mknod(
                caller(umask: fixed.umask), name, in: node, mode: fixed.mode, device: UInt64(fixed.rdev),
                reply: reply())
        case .mkdir:
            let (fixed, name) = try named(fuse_mkdir_in.self)
            fileSystem.mkdir(caller(umask: fixed.umask), name, in: node, mode: fixed.mode, reply: reply())
        case .symlink:
            var arguments = received.arguments
            let name = try arguments.name()
            let target = unsafe Array(try arguments.string())
            fileSystem.symlink(caller(), name, in: node, target: target, reply: reply())
        case .unlink:
            var arguments = received.arguments
            fileSystem.unlink(caller(), try arguments.name(), in: node, reply: reply())
        case .rmdir:
            var arguments = received.arguments
            fileSystem.rmdir(caller(), try arguments.name(), in: node, reply: reply())
        case .rename:
            let (fixed, arguments) = try received.parts(fuse_rename_in.self)
            try rename(arguments, to: fixed.newdir, flags: 0)
        case .rename2:
            let (fixed, arguments) = try received.parts(fuse_rename2_in.self)
            try rename(arguments, to: fixed.newdir, flags: fixed.flags)
        case .link:
            let (fixed, name) = try named(fuse_link_in.self)
            fileSystem.link(caller(), NodeID(rawValue: fixed.oldnodeid), as: name, in: node, reply: reply())
        case .create:
            let (fixed, name) = try named(fuse_create_in.self)
            fileSystem.create(
                caller(umask: fixed.umask), name, in: node, mode: fixed.mode, flags: Int32(bitPattern: fixed.flags),
                reply: reply())
        case .tmpfile:
            let fixed = try received.fixed(fuse_create_in.self)
            fileSystem.tmpfile(
                caller(umask: fixed.umask), in: node, mode: fixed.mode, flags: Int32(bitPattern: fixed.flags),
                reply: reply())
        default: throw .ENOSYS
        }
    }

    private func lookup() throws(Errno) {
        var arguments = received.arguments
        let bytes = unsafe try arguments.string()
        let dot = UInt8(ascii: ".")
        // Only for file handles; in a path, the kernel resolves both itself.
        if unsafe bytes.elementsEqual([dot]) { return fileSystem.lookupHandle(caller(), node, reply: reply()) }
        if unsafe bytes.elementsEqual([dot, dot]) { return fileSystem.lookupParent(caller(), node, reply: reply()) }
        guard let name = unsafe Name(bytes: bytes) else { throw .ENAMETOOLONG }
        fileSystem.lookup(caller(), name, in: node, reply: reply())
    }

    private func rename(_ arguments: Arguments, to folder: UInt64, flags: UInt32) throws(Errno) {
        var arguments = arguments
        let name = try arguments.name()
        let newName = try arguments.name()
        fileSystem.rename(
            caller(), name, in: node, to: newName, in: NodeID(rawValue: folder), flags: flags, reply: reply())
    }

    private func named<Fixed: BitwiseCopyable>(_ type: Fixed.Type) throws(Errno) -> (Fixed, Name) {
        var (fixed, arguments) = try received.parts(type)
        return (fixed, try arguments.name())
    }
}
