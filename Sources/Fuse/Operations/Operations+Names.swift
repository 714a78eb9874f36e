import CFuse
import Glibc
import Posix

extension Session {
    /// The operations on a name in a directory.
    static func addNames(_ table: inout fuse_lowlevel_ops) {
        unsafe table.lookup = { request, parent, name in
            let session = unsafe Session.of(request!)
            let reply: Reply<Entry> = unsafe session.reply(request!)
            let node = NodeID(rawValue: parent)
            // Only for file handles; in a path, the kernel resolves both itself.
            if unsafe strcmp(name!, ".") == 0 {
                return session.fileSystem.lookupHandle(unsafe Request(request!), node, reply: reply)
            }
            if unsafe strcmp(name!, "..") == 0 {
                return session.fileSystem.lookupParent(unsafe Request(request!), node, reply: reply)
            }
            guard let name = unsafe Name(name!) else { return reply.fail(.ENAMETOOLONG) }
            session.fileSystem.lookup(unsafe Request(request!), name, in: node, reply: reply)
        }
        unsafe table.mknod = { request, parent, name, mode, device in
            let session = unsafe Session.of(request!)
            let reply: Reply<Entry> = unsafe session.reply(request!)
            guard let name = unsafe Name(name!) else { return reply.fail(.ENAMETOOLONG) }
            session.fileSystem.mknod(
                unsafe Request(request!), name, in: NodeID(rawValue: parent), mode: mode, device: UInt64(device),
                reply: reply)
        }
        unsafe table.mkdir = { request, parent, name, mode in
            let session = unsafe Session.of(request!)
            let reply: Reply<Entry> = unsafe session.reply(request!)
            guard let name = unsafe Name(name!) else { return reply.fail(.ENAMETOOLONG) }
            session.fileSystem.mkdir(
                unsafe Request(request!), name, in: NodeID(rawValue: parent), mode: mode, reply: reply)
        }
        unsafe table.symlink = { request, target, parent, name in
            let session = unsafe Session.of(request!)
            let reply: Reply<Entry> = unsafe session.reply(request!)
            guard let name = unsafe Name(name!) else { return reply.fail(.ENAMETOOLONG) }
            let target = unsafe Array(UnsafeRawBufferPointer(start: target!, count: strlen(target!)))
            session.fileSystem.symlink(
                unsafe Request(request!), name, in: NodeID(rawValue: parent), target: target, reply: reply)
        }
        unsafe table.unlink = { request, parent, name in
            let session = unsafe Session.of(request!)
            let reply: Reply<Done> = unsafe session.reply(request!)
            guard let name = unsafe Name(name!) else { return reply.fail(.ENAMETOOLONG) }
            session.fileSystem.unlink(unsafe Request(request!), name, in: NodeID(rawValue: parent), reply: reply)
        }
        unsafe table.rmdir = { request, parent, name in
            let session = unsafe Session.of(request!)
            let reply: Reply<Done> = unsafe session.reply(request!)
            guard let name = unsafe Name(name!) else { return reply.fail(.ENAMETOOLONG) }
            session.fileSystem.rmdir(unsafe Request(request!), name, in: NodeID(rawValue: parent), reply: reply)
        }
        unsafe table.rename = { request, parent, name, newParent, newName, flags in
            let session = unsafe Session.of(request!)
            let reply: Reply<Done> = unsafe session.reply(request!)
            guard let name = unsafe Name(name!), let newName = unsafe Name(newName!) else {
                return reply.fail(.ENAMETOOLONG)
            }
            session.fileSystem.rename(
                unsafe Request(request!), name, in: NodeID(rawValue: parent), to: newName,
                in: NodeID(rawValue: newParent), flags: flags, reply: reply)
        }
        unsafe table.link = { request, node, newParent, newName in
            let session = unsafe Session.of(request!)
            let reply: Reply<Entry> = unsafe session.reply(request!)
            guard let newName = unsafe Name(newName!) else { return reply.fail(.ENAMETOOLONG) }
            session.fileSystem.link(
                unsafe Request(request!), NodeID(rawValue: node), as: newName, in: NodeID(rawValue: newParent),
                reply: reply)
        }
        unsafe table.create = { request, parent, name, mode, info in
            let session = unsafe Session.of(request!)
            let reply: Reply<Created> = unsafe session.reply(request!)
            if Session.currentOpcode == FUSE_TMPFILE.rawValue {
                return session.fileSystem.tmpfile(
                    unsafe Request(request!), in: NodeID(rawValue: parent), mode: mode,
                    flags: unsafe info!.pointee.flags, reply: reply)
            }
            guard let name = unsafe Name(name!) else { return reply.fail(.ENAMETOOLONG) }
            session.fileSystem.create(
                unsafe Request(request!), name, in: NodeID(rawValue: parent), mode: mode,
                flags: unsafe info!.pointee.flags, reply: reply)
        }
    }
}
