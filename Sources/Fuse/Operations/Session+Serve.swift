import CFuse
import Glibc
import Posix

extension Session {
    /// Passes a request to the file system, which answers it now or later. Not for FUSE_INIT.
    func serve(_ received: Received, _ channel: Channel) {
        let incoming = Incoming(session: self, received: received, channel: channel)
        guard let opcode = received.opcode else { return incoming.refuse(.ENOSYS) }
        if opcode.isUse, !wasUsed.load(ordering: .relaxed) { wasUsed.store(true, ordering: .relaxed) }
        if isForeign(received, opcode) { return incoming.refuse(.EACCES) }
        do throws(Errno) {
            if try refusesChange(received, opcode) { return incoming.refuse(.EROFS) }
            try incoming.dispatch(opcode)
        } catch { incoming.refuse(error) }
    }

    /// Whether the request is of a user that `allow_root` keeps out, which only libfuse knows: the kernel got
    /// allow_other.
    private func isForeign(_ received: Received, _ opcode: Opcode) -> Bool {
        guard allowsOnlyRoot.load(ordering: .relaxed), !opcode.isOfEachUser else { return false }
        return received.header.uid != 0 && received.header.uid != getuid()
    }

    /// Whether a read-only file system refuses the request.
    ///
    /// The kernel refuses changes of a mount with the option `ro` by itself, until root remounts it with `rw`: it does
    /// not ask the file system before that.
    private func refusesChange(_ received: Received, _ opcode: Opcode) throws(Errno) -> Bool {
        guard configuration.isReadOnly else { return false }
        guard opcode == .open else { return opcode.isChange }
        let flags = Int32(bitPattern: try received.fixed(fuse_open_in.self).flags)
        return flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0
    }
}

extension Incoming {
    /// - Throws: why the request makes no sense, before it has a reply.
    fileprivate func dispatch(_ opcode: Opcode) throws(Errno) {
        switch opcode {
        case .lookup, .symlink, .mknod, .mkdir, .unlink, .rmdir, .rename, .rename2, .link, .create, .tmpfile:
            try dispatchName(opcode)
        case .open, .read, .write, .flush, .release, .fsync, .fallocate, .lseek: try dispatchFile(opcode)
        case .getlk, .setlk, .setlkw: try dispatchLock(opcode)
        case .opendir, .readdir, .readdirplus, .releasedir, .fsyncdir: try dispatchDirectory(opcode)
        case .setxattr, .getxattr, .listxattr, .removexattr: try dispatchAttribute(opcode)
        case .getattr, .statx, .setattr, .readlink, .statfs: try dispatchInode(opcode)
        case .forget:
            fileSystem.forget(node, count: try received.fixed(fuse_forget_in.self).nlookup)
        case .batchForget: try forgetBatch()
        case .interrupt:
            session.interrupts.add(try received.fixed(fuse_interrupt_in.self).unique)
            fileSystem.interrupted()
        case .notifyReply: break
        case .destroy: (reply() as Reply<Done>).succeed()
        case .access, .copyFileRange, .initialize: refuse(.ENOSYS)
        }
    }

    private func forgetBatch() throws(Errno) {
        let (fixed, arguments) = try received.parts(fuse_batch_forget_in.self)
        let list = unsafe arguments.bytes
        let size = MemoryLayout<fuse_forget_one>.size
        guard list.count / size >= Int(fixed.count) else { return }
        for index in 0..<Int(fixed.count) {
            let one = unsafe list.loadUnaligned(fromByteOffset: index * size, as: fuse_forget_one.self)
            fileSystem.forget(NodeID(rawValue: one.nodeid), count: one.nlookup)
        }
    }
}
