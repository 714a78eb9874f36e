import CFuse
import Posix

extension Session {
    /// The operations on open directories.
    static func addDirectories(_ table: inout fuse_lowlevel_ops) {
        unsafe table.opendir = { request, node, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.opendir(
                unsafe Request(request!), NodeID(rawValue: node), flags: unsafe info!.pointee.flags,
                reply: unsafe session.reply(request!))
        }
        unsafe table.readdir = { request, node, size, offset, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.readdir(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                offset: Int64(offset), size: size, reply: unsafe session.reply(request!, limit: size))
        }
        unsafe table.readdirplus = { request, node, size, offset, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.readdirplus(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                offset: Int64(offset), size: size, reply: unsafe session.reply(request!, limit: size))
        }
        unsafe table.releasedir = { request, node, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.releasedir(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                reply: unsafe session.reply(request!))
        }
        unsafe table.fsyncdir = { request, node, dataOnly, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.fsyncdir(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                dataOnly: dataOnly != 0, reply: unsafe session.reply(request!))
        }
    }
}
