import CFuse
import Posix

extension Session {
    /// The operations on regular files.
    static func addFiles(_ table: inout fuse_lowlevel_ops) {
        unsafe table.open = { request, node, info in
            let session = unsafe Session.of(request!)
            let received: fuse_open_in? = ReceivedBody.current()
            session.fileSystem.open(
                unsafe Request(request!), NodeID(rawValue: node), flags: unsafe info!.pointee.flags,
                dropsPrivileges: (received?.open_flags ?? 0) & UInt32(FUSE_OPEN_KILL_SUIDGID) != 0,
                reply: unsafe session.reply(request!))
        }
        unsafe table.read = { request, node, size, offset, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.read(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                offset: Int64(offset), size: size, reply: unsafe session.reply(request!, limit: size))
        }
        unsafe table.write = { request, node, bytes, size, offset, info in
            let session = unsafe Session.of(request!)
            var flags: WriteFlags = unsafe lk_fuse_is_write_page(info!) ? .page : []
            if let received: fuse_write_in = ReceivedBody.current(),
                received.write_flags & UInt32(FUSE_WRITE_KILL_SUIDGID) != 0
            {
                flags.insert(.dropsPrivileges)
            }
            session.fileSystem.write(
                unsafe Request(request!), unsafe RawSpan(_unsafeStart: bytes!, byteCount: size),
                to: NodeID(rawValue: node), handle: unsafe HandleID(info)!, offset: Int64(offset), flags: flags,
                reply: unsafe session.reply(request!))
        }
        unsafe table.flush = { request, node, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.flush(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                reply: unsafe session.reply(request!))
        }
        unsafe table.release = { request, node, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.release(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                flags: unsafe info!.pointee.flags, reply: unsafe session.reply(request!))
        }
        unsafe table.fsync = { request, node, dataOnly, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.fsync(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                dataOnly: dataOnly != 0, reply: unsafe session.reply(request!))
        }
        unsafe table.fallocate = { request, node, mode, offset, length, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.fallocate(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!, mode: mode,
                offset: Int64(offset), length: Int64(length), reply: unsafe session.reply(request!))
        }
        unsafe table.lseek = { request, node, offset, whence, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.lseek(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info)!,
                offset: Int64(offset), whence: whence, reply: unsafe session.reply(request!))
        }
    }
}
