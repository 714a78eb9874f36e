import Format
import Fuse
import Glibc
import Posix
import Vault

// Requests on contents. Each passes the gate of its class and replies before it leaves the gate.

extension VaultFileSystem {
    func open(
        _ request: Request, _ id: NodeID, flags: Int32, dropsPrivileges: Bool, reply: consuming Reply<Opened>
    ) {
        guard let share = shares.take(for: request.user) else { return reply.fail(.EMFILE) }
        open(request, id, flags: flags, dropsPrivileges: dropsPrivileges, share, reply, parked.arrival)
    }

    private func open(
        _ request: Request, _ id: NodeID, flags: Int32, dropsPrivileges: Bool, _ share: HandleShare,
        _ reply: consuming Reply<Opened>,
        _ arrival: ParkedRequests.Arrival
    ) {
        let node: Node
        do throws(VaultError) {
            node = try self.node(id)
            let file = try tree.withShared { () throws(VaultError) in
                if flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0 { keep(node) }
                return try useFile(of: node)
            }
            do throws(VaultError) {
                let protectionClass = try passGate(of: file, for: .open)
                defer { gates.leave(protectionClass) }
                // Now, not at the first read: a handle of class B must keep working under a lock.
                try file.loadKey()
                if flags & O_ACCMODE != O_RDONLY { try file.prepareToWrite() }
                if flags & O_TRUNC != 0 {
                    try file.dropCapabilities()
                    if dropsPrivileges { try dropPrivileges(of: file, node, for: request) }
                    try file.truncate(to: 0)
                }
                let opened = nodes.update(node) { addHandle(to: node, file, flags, share, isNew: false, in: &$0) }
                if !reply.succeed(opened) { removeHandle(of: node, flags, share) }
            } catch {
                releaseFile(of: node)
                throw error
            }
        } catch {
            log(error, at: nodes[id])
            shares.giveBack(share)
            guard error == .locked else { return reply.fail(error.errno) }
            parked.park(reply, arrival) { [self] reply, arrival in
                guard let share = shares.take(for: request.user) else { return reply.fail(.EMFILE) }
                open(request, id, flags: flags, dropsPrivileges: dropsPrivileges, share, reply, arrival)
            }
        }
    }

    func create(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, flags: Int32,
        reply: consuming Reply<Created>
    ) {
        guard let share = shares.take(for: request.user) else { return reply.fail(.EMFILE) }
        let made: (entry: Fuse.Entry, node: Node, opened: Opened?)
        do throws(VaultError) {
            let parent = try node(parent)
            do throws(VaultError) {
                made = try vault.reclaimingSpace { () throws(VaultError) in
                    try tree.withShared { () throws(VaultError) in
                        try makeFile(
                            Location(parent: parent, name: name), in: try directory(of: parent),
                            request.ownership(mode), opening: (flags, share))
                    }
                }
            } catch {
                log(error, at: parent, name)
                throw error
            }
        } catch {
            shares.giveBack(share)
            return reply.fail(error.errno)
        }
        if !reply.succeed(Created(entry: made.entry, opened: made.opened!)) {
            removeHandle(of: made.node, flags, share)
            forget(made.entry.node, count: 1)
        }
    }

    func tmpfile(
        _ request: Request, in parent: NodeID, mode: UInt32, flags: Int32, reply: consuming Reply<Created>
    ) {
        guard let share = shares.take(for: request.user) else { return reply.fail(.EMFILE) }
        let made: (entry: Fuse.Entry, node: Node, opened: Opened?)
        do throws(VaultError) {
            let parent = try node(parent)
            made = try tree.withShared { () throws(VaultError) in
                let directory = try directory(of: parent)
                let protectionClass = vault.classOfNew(in: directory)
                return try createAdmitted(protectionClass, opening: (flags, share), at: nil) { () throws(VaultError) in
                    try vault.createNamelessFile(in: directory, request.ownership(mode), protectionClass)
                }
            }
        } catch {
            log(error, at: nodes[parent])
            shares.giveBack(share)
            return reply.fail(error.errno)
        }
        if !reply.succeed(Created(entry: made.entry, opened: made.opened!)) {
            removeHandle(of: made.node, flags, share)
            forget(made.entry.node, count: 1)
        }
    }

    /// Creates a file with a name. Counts a lookup, and a user of the file.
    func makeFile(
        _ location: Location, in directory: Directory, _ ownership: Ownership,
        opening: (flags: Int32, share: HandleShare)?
    ) throws(VaultError) -> (Fuse.Entry, Node, Opened?) {
        keep(location)
        let protectionClass = try vault.classOfNewFile(location.name, in: directory)
        return try createAdmitted(protectionClass, opening: opening, at: location) { () throws(VaultError) in
            try vault.createFile(location.name, in: directory, ownership, protectionClass)
        }
    }

    /// Creates a file and its node before it leaves the gate of the class, so that an eviction finds the key, and the
    /// handle that keeps the key of class B in memory. Counts a lookup, and a user of the file.
    ///
    /// - Parameter location: nil for a file without a name.
    private func createAdmitted(
        _ protectionClass: ProtectionClass, opening: (flags: Int32, share: HandleShare)?, at location: Location?,
        _ make: () throws(VaultError) -> File
    ) throws(VaultError) -> (Fuse.Entry, Node, Opened?) {
        guard gates.admit(protectionClass, for: .create) else { throw .locked }
        defer { gates.leave(protectionClass) }
        let file = try make()
        let status: FileStatus
        do throws(VaultError) { status = try file.status() } catch {
            // No node refers to the file yet, so no eviction would find its key.
            file.close()
            if let location {
                try? vault.unlink(location.name, in: try directory(of: location.parent))
            } else {
                try? vault.removeNameless(file)
            }
            throw error
        }
        let node = nodes.look(up: BackingInode(status), .file(file.identifier))
        if let location { node.add(location) }
        let opened = nodes.update(node) { state in
            state.protectionClass = protectionClass
            state.isNameless = location == nil
            state.file = Node.OpenFile(file: file, users: 1, handles: 0)
            // Under the same lock: an eviction wipes the key of a file of class B that has no handle.
            return opening.map { addHandle(to: node, file, $0.flags, $0.share, isNew: true, in: &state) }
        }
        shared?.made(node, at: location)
        // The kernel does not know the number yet: it could not be told of another machine's change.
        let entry = Fuse.Entry(
            node, node.shown(status), timeout: shared == nil ? timeout(for: protectionClass) : 0,
            entryTimeout: self.timeout)
        return (entry, node, opened)
    }

    /// Turns a user of the file into a handle. Needs the node's state.
    private func addHandle(
        to node: Node, _ file: File, _ flags: Int32, _ share: HandleShare, isNew: Bool, in state: inout Node.State
    ) -> Opened {
        // Read under the node's lock: a concurrent change of class either shows in this header, or its update of the
        // node follows this one.
        let header = file.header
        state.protectionClass = header.protectionClass
        let isKnown =
            state.file!.handles > 0 || state.closed == nil || state.closed?.generation == header.generation
        state.file!.handles += 1
        if flags & O_ACCMODE == O_RDWR { state.mappers += 1 }
        state.mayHavePages = true
        // Most new files get few writes, so to persist the length with each is cheaper than a FLUSH request at the end.
        if isNew, shared == nil { file.keepLengths() }
        // A handle that only reads has no error to report at close.
        return Opened(
            handle: HandleID(rawValue: share.rawValue), keepCache: isKnown,
            // Other machines change the file without a word to the kernel, and locks are given up at close(2).
            directIO: shared != nil, noFlush: shared == nil && (isNew || flags & O_ACCMODE == O_RDONLY))
    }

    /// Removes a handle. After the last one, wipes the key and drops the pages if the file is of a strict class that is
    /// locked.
    private func removeHandle(of node: Node, _ flags: Int32, _ share: HandleShare) {
        shares.giveBack(share)
        let last: File? = nodes.update(node) { state in
            if flags & O_ACCMODE == O_RDWR { state.mappers -= 1 }
            state.file!.handles -= 1
            return state.file!.handles == 0 ? state.file!.file : nil
        }
        if let last { evictIfLocked(node, last) }
        releaseFile(of: node)
    }

    /// After a change of class: first waits until requests that were admitted under a weaker class have replied, so
    /// that none of them fills the page cache after the eviction.
    func evictIfLocked(_ node: Node, _ file: File, changedFrom old: ProtectionClass) {
        if file.protectionClass.isStricter(than: old) { gates.drain(old) }
        evictIfLocked(node, file)
    }

    /// Wipes the key and drops the pages of a file whose class is locked; for class B only if no handle is open.
    func evictIfLocked(_ node: Node, _ file: File) {
        let protectionClass = file.protectionClass
        guard gates.state(of: protectionClass) != .open else { return }
        guard protectionClass != .completeUnlessOpen || node.state.withLock({ $0.file?.handles ?? 0 }) == 0 else {
            return
        }
        file.dropKey()
        late.dropPages(of: node.id)
    }

    func release(
        _ request: Request, _ id: NodeID, handle: HandleID, flags: Int32, unlocking owner: LockOwner?,
        reply: consuming Reply<Done>
    ) {
        answer(reply, id) { (node) throws(VaultError) in
            if flags & O_ACCMODE != O_RDONLY { noteChange(of: node) }
            removeHandle(of: node, flags, HandleShare(rawValue: handle.rawValue))
        }
    }

    func read(
        _ request: Request, _ id: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Bytes>
    ) {
        do throws(VaultError) {
            let file = try openFile(of: try node(id))
            guard size <= PlainBuffer.size, offset >= 0 else { throw .system(.EINVAL) }
            var passed: ProtectionClass? = try pass(file.protectionClass, for: .read)
            defer { if let passed { gates.leave(passed) } }
            let buffer = buffers.take()
            defer { buffers.giveBack(buffer) }
            let memory = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.memory[..<size])
            // A block that fails to verify leaves no plaintext, but the blocks before it do.
            defer { if passed?.leavesMemory ?? false { buffer.wipe(size) } }
            var span = unsafe MutableRawSpan(_unsafeBytes: memory)
            while let protectionClass = passed {
                if protectionClass != .completeUnlessOpen, gates.state(of: protectionClass) == .evicting {
                    late.countPage()
                }
                guard let count = try file.read(into: &span, at: UInt64(offset), admittedTo: protectionClass) else {
                    try passOther(file, for: .read, &passed)
                    continue
                }
                if keepsAccessTimes, !keepsStill.load(ordering: .relaxed) { file.noteAccess() }
                unsafe reply.succeed(UnsafeRawBufferPointer(rebasing: memory[..<count]).bytes)
                return
            }
        } catch {
            log(error, at: nodes[id])
            if error == .locked, let node = nodes[id], canPause(node) { late.pauseAfterRefusal() }
            reply.fail(error.errno)
        }
    }

    private func canPause(_ node: Node) -> Bool {
        node.state.withLock { $0.protectionClass }.map { gates.state(of: $0) == .closed } ?? false
    }

    func write(
        _ request: Request, _ bytes: RawSpan, to id: NodeID, handle: HandleID, offset: Int64, flags: WriteFlags,
        reply: consuming Reply<Count>
    ) {
        let isPage = flags.contains(.page)
        do throws(VaultError) {
            let node = try node(id)
            let file = try openFile(of: node)
            let classAtFirst = file.protectionClass
            if classAtFirst.leavesMemory { request.markSecret() }
            guard offset >= 0 else { throw .system(.EINVAL) }
            // Before the gate, so that it holds while locked too: `LateRequests.refuse` computes the end offset.
            guard UInt64(offset) <= FileHeader.largestLength - UInt64(bytes.byteCount) else { throw .system(.EFBIG) }
            let access: Access = isPage ? .page : .use
            var passed: ProtectionClass? = try pass(classAtFirst, for: access)
            defer { if let passed { gates.leave(passed) } }
            while let protectionClass = passed {
                if isPage && gates.state(of: protectionClass) == .evicting { late.countPage() }
                if !isPage { try file.dropCapabilities() }
                if flags.contains(.dropsPrivileges) { try dropPrivileges(of: file, node, for: request) }
                let isWritten = try vault.reclaimingSpace { () throws(VaultError) in
                    try file.write(bytes, at: UInt64(offset), admittedTo: protectionClass)
                }
                guard !isWritten else {
                    reply.succeed(bytes.byteCount)
                    return
                }
                // Of which class the file is now is not known yet.
                request.markSecret()
                try passOther(file, for: access, &passed)
            }
        } catch {
            log(error, at: nodes[id])
            guard error == .locked else { return reply.fail(error.errno) }
            if isPage {
                reply.fail(.ENOKEY)
                late.dropPages(of: id)
            } else {
                late.refuse(reply, to: id, offset: offset, count: bytes.byteCount)
            }
        }
    }

    func flush(
        _ request: Request, _ id: NodeID, handle: HandleID, owner: LockOwner, reply: consuming Reply<Done>
    ) {
        answer(reply, id) { (node) throws(VaultError) in try openFile(of: node).persistLength() }
    }

    func fsync(
        _ request: Request, _ id: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        answer(reply, id) { (node) throws(VaultError) in
            let file = try openFile(of: node)
            noteChange(of: node)
            let isWhole = !dataOnly && (node.state.withLock { $0.hasFreshMetadata } || file.hasFreshNames)
            // Cleared before the work: a change during it is for the next fsync.
            if isWhole { node.state.withLock { $0.hasFreshMetadata = false } }
            do throws(VaultError) {
                try file.synchronize(dataOnly: !isWhole)
            } catch {
                if isWhole { node.state.withLock { $0.hasFreshMetadata = true } }
                throw error
            }
        }
    }

    func fallocate(
        _ request: Request, _ id: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64,
        reply: consuming Reply<Done>
    ) {
        answer(reply, id) { (node) throws(VaultError) in
            let file = try openFile(of: node)
            try withGate(of: file, for: .use) { (_) throws(VaultError) in
                guard offset >= 0, length > 0 else { throw .system(.EINVAL) }
                let (end, isTooFar) = offset.addingReportingOverflow(length)
                guard !isTooFar else { throw .system(.EFBIG) }
                let range = UInt64(offset)..<UInt64(end)
                let keepsLength = mode & FALLOC_FL_KEEP_SIZE != 0
                let kind = mode & ~FALLOC_FL_KEEP_SIZE
                // Blocks cannot be moved, because a block's tag covers its number.
                guard kind == 0 || kind == FALLOC_FL_ZERO_RANGE || (kind == FALLOC_FL_PUNCH_HOLE && keepsLength)
                else { throw .system(.EOPNOTSUPP) }
                // The kernel leaves this to the file system, and does not say which callers may keep the bits.
                try file.dropCapabilities()
                try dropPrivileges(of: file, node, for: request, unless: request.keepsSetIDBits)
                if kind != 0 { try file.punch(range) }
                if kind != FALLOC_FL_PUNCH_HOLE { try file.allocate(range, keepingLength: keepsLength) }
            }
        }
    }

    func lseek(
        _ request: Request, _ id: NodeID, handle: HandleID, offset: Int64, whence: Int32,
        reply: consuming Reply<Offset>
    ) {
        do throws(VaultError) {
            let node = try node(id)
            let file = try openFile(of: node)
            let protectionClass = try passGate(of: file, for: .use)
            defer { gates.leave(protectionClass) }
            guard offset >= 0, offset < Int64(file.length) else { throw .system(.ENXIO) }
            // A program with a writable mapping may have stored into it, and the kernel does not write that back for
            // lseek(2).
            if node.state.withLock({ $0.mappers > 0 }) {
                reply.succeed(whence == SEEK_HOLE ? Int64(file.length) : offset)
                return
            }
            guard let found = try file.next(hole: whence == SEEK_HOLE, from: UInt64(offset)) else {
                throw .system(.ENXIO)
            }
            reply.succeed(Int64(found))
        } catch { reply.fail(error.errno) }
    }
}

extension ProtectionClass {
    /// A lock takes its contents out of memory, so they are wiped from the daemon's buffers after use.
    var leavesMemory: Bool { self != .none }
}
