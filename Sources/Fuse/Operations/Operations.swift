import CFuse
import Glibc
import Posix

extension Session {
    /// libfuse's table of callbacks. They cannot capture anything, so each finds its session through the request.
    static var operations: fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        addInodes(&table)
        addNames(&table)
        addFiles(&table)
        addDirectories(&table)
        addAttributes(&table)
        return table
    }

    /// Takes over the duty to answer; `run` waits for the answer.
    func reply<Value: ~Copyable>(_ request: fuse_req_t, limit: Int = 0) -> Reply<Value> {
        let isRunning = use.acquire()
        assert(isRunning, "a request after the workers have ended")
        return unsafe Reply(request, limit: limit)
    }

    private static func addInodes(_ table: inout fuse_lowlevel_ops) {
        unsafe table.`init` = { session, connection in
            unsafe Unmanaged<Session>.fromOpaque(session!).takeUnretainedValue().negotiate(connection!)
        }
        unsafe table.forget = { request, node, count in
            unsafe Session.of(request!).fileSystem.forget(NodeID(rawValue: node), count: count)
            unsafe fuse_reply_none(request)
        }
        unsafe table.forget_multi = { request, count, list in
            let session = unsafe Session.of(request!)
            for index in 0..<count {
                let forgotten = unsafe list![index]
                session.fileSystem.forget(NodeID(rawValue: forgotten.ino), count: forgotten.nlookup)
            }
            unsafe fuse_reply_none(request)
        }
        unsafe table.getattr = { request, node, info in
            let session = unsafe Session.of(request!)
            if Session.currentOpcode == UInt32(LK_FUSE_STATX) {
                return session.fileSystem.statx(
                    unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info),
                    reply: unsafe session.reply(request!))
            }
            session.fileSystem.getattr(
                unsafe Request(request!), NodeID(rawValue: node), handle: unsafe HandleID(info),
                reply: unsafe session.reply(request!))
        }
        unsafe table.setattr = { request, node, values, selection, info in
            let session = unsafe Session.of(request!)
            session.fileSystem.setattr(
                unsafe Request(request!), NodeID(rawValue: node),
                unsafe AttributeChanges(values!.pointee, selection), handle: unsafe HandleID(info),
                reply: unsafe session.reply(request!))
        }
        unsafe table.readlink = { request, node in
            let session = unsafe Session.of(request!)
            session.fileSystem.readlink(
                unsafe Request(request!), NodeID(rawValue: node), reply: unsafe session.reply(request!))
        }
        unsafe table.statfs = { request, node in
            let session = unsafe Session.of(request!)
            session.fileSystem.statfs(
                unsafe Request(request!), NodeID(rawValue: node), reply: unsafe session.reply(request!))
        }
    }
}

extension HandleID {
    init?(_ info: UnsafeMutablePointer<fuse_file_info>?) {
        guard let info = unsafe info else { return nil }
        self.init(rawValue: unsafe info.pointee.fh)
    }
}
