import CLinux
import Fuse
import Glibc
import Posix

extension Passthrough {
    func open(
        _ request: Request, _ node: NodeID, flags: Int32, dropsPrivileges: Bool, reply: consuming Reply<Opened>
    ) {
        do throws(Errno) {
            let inode = try faults.answering(.open) { () throws(Errno) in try self.file(node) }
            let opened = try reopen(inode, flags)
            if dropsPrivileges { try Self.dropPrivileges(of: inode) }
            let delay = openDelay.load(ordering: .relaxed)
            if delay > 0 {
                DelayedOpen(reply, self, opened).start(milliseconds: delay)
            } else {
                finish(reply, opened)
            }
        } catch {
            reply.fail(error)
        }
    }

    func create(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, flags: Int32,
        reply: consuming Reply<Created>
    ) {
        do throws(Errno) {
            let directory = try file(parent)
            // The kernel sends this request only if it believes that the name does not exist.
            let isNew = (try? directory.status(of: name)) == nil
            let opened = try faults.answering(.create) { () throws(Errno) in
                try directory.open(name, (flags | O_CREAT) & ~O_APPEND, mode: mode & 0o7777)
            }
            if isNew { try setOwner(request, of: name, in: directory) }
            let entry = try entry(name, in: directory)
            let handle = files.insert(opened)
            if !reply.succeed(Created(entry: entry, opened: Opened(handle: handle, keepCache: true))) {
                files.remove(handle)
                nodes.forget(entry.node, count: 1)
            }
        } catch {
            reply.fail(error)
        }
    }

    func finish(_ reply: consuming Reply<Opened>, _ file: Descriptor) {
        let handle = files.insert(file)
        if !reply.succeed(Opened(handle: handle, keepCache: true)) { files.remove(handle) }
    }

    /// The kernel has already chosen the offset of an append; a pwrite(2) to a file with O_APPEND would go to the end.
    private func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor {
        let flags = flags & ~(O_APPEND | O_NOFOLLOW) | O_CLOEXEC
        let number = unsafe lk_openat(AT_FDCWD, "/proc/self/fd/\(file.number)", flags, 0)
        if number < 0 { throw .current }
        return Descriptor(owning: number)
    }

    func read(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Bytes>
    ) {
        do throws(Errno) {
            let file = try files[handle]
            let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
            defer { unsafe scratch.deallocate() }
            var buffer = unsafe MutableRawSpan(_unsafeBytes: scratch)
            let count = try faults.answering(.read) { () throws(Errno) in try file.read(into: &buffer, at: offset) }
            reply.succeed(buffer.bytes.extracting(first: count))
        } catch {
            reply.fail(error)
        }
    }

    func write(
        _ request: Request, _ bytes: RawSpan, to node: NodeID, handle: HandleID, offset: Int64, flags: WriteFlags,
        reply: consuming Reply<Count>
    ) {
        do throws(Errno) {
            request.markSecret()
            if flags.contains(.page) { pageWrites.add(1, ordering: .relaxed) }
            try faults.answering(.write) { () throws(Errno) in try files[handle].write(bytes, at: offset) }
            if flags.contains(.dropsPrivileges) { try Self.dropPrivileges(of: file(node)) }
            reply.succeed(bytes.byteCount)
        } catch {
            reply.fail(error)
        }
    }

    func flush(
        _ request: Request, _ node: NodeID, handle: HandleID, owner: LockOwner, reply: consuming Reply<Done>
    ) {
        answer(reply) { () throws(Errno) in
            // What a closing descriptor would report.
            let copy = dup(try files[handle].number)
            if copy < 0 || close(copy) != 0 { throw .current }
        }
    }

    func release(
        _ request: Request, _ node: NodeID, handle: HandleID, flags: Int32, unlocking owner: LockOwner?,
        reply: consuming Reply<Done>
    ) {
        files.remove(handle)
        reply.succeed()
    }

    func fsync(_ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>) {
        answer(reply, .fsync) { () throws(Errno) in try files[handle].synchronize(dataOnly: dataOnly) }
    }

    func fallocate(
        _ request: Request, _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64,
        reply: consuming Reply<Done>
    ) {
        answer(reply) { () throws(Errno) in
            try files[handle].allocate(mode: mode, offset: offset, length: length)
        }
    }

    func lseek(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32,
        reply: consuming Reply<Fuse.Offset>
    ) {
        do throws(Errno) {
            let file = try files[handle]
            let found = Glibc.lseek(file.number, off_t(offset), whence)
            let error = Errno.current
            withExtendedLifetime(file) {}
            if found < 0 { throw error }
            reply.succeed(Int64(found))
        } catch {
            reply.fail(error)
        }
    }
}
