import CFuse
import Glibc
import Posix

extension Session {
    /// The operations on extended attributes.
    static func addAttributes(_ table: inout fuse_lowlevel_ops) {
        unsafe table.setxattr = { request, node, name, value, size, flags in
            let session = unsafe Session.of(request!)
            let reply: Reply<Done> = unsafe session.reply(request!)
            let received = unsafe lk_fuse_current_worker()?.pointee.attribute_flags ?? 0
            session.fileSystem.setxattr(
                unsafe Request(request!), NodeID(rawValue: node), unsafe Session.attributeName(name!),
                value: unsafe RawSpan(_unsafeStart: value!, byteCount: size), flags: flags,
                dropsSetGroupID: received & UInt32(FUSE_SETXATTR_ACL_KILL_SGID) != 0, reply: reply)
        }
        unsafe table.getxattr = { request, node, name, size in
            let session = unsafe Session.of(request!)
            let reply: Reply<AttributeValue> = unsafe session.reply(request!, limit: size)
            session.fileSystem.getxattr(
                unsafe Request(request!), NodeID(rawValue: node), unsafe Session.attributeName(name!), reply: reply)
        }
        unsafe table.listxattr = { request, node, size in
            let session = unsafe Session.of(request!)
            session.fileSystem.listxattr(
                unsafe Request(request!), NodeID(rawValue: node), reply: unsafe session.reply(request!, limit: size))
        }
        unsafe table.removexattr = { request, node, name in
            let session = unsafe Session.of(request!)
            let reply: Reply<Done> = unsafe session.reply(request!)
            session.fileSystem.removexattr(
                unsafe Request(request!), NodeID(rawValue: node), unsafe Session.attributeName(name!), reply: reply)
        }
    }

    private static func attributeName(_ string: UnsafePointer<CChar>) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: string, count: strlen(string)))
    }
}
