import Format
import Fuse
import Posix
import Vault

// From nodes to the objects of the vault.

extension VaultFileSystem {
    /// The directory of a node, opened if necessary. Needs `tree` shared.
    ///
    /// Goes up to the nearest open directory and then down again, without recursion: a tree may be deeper than the
    /// stack.
    func directory(of node: Node) throws(VaultError) -> Directory {
        var closed: [Node] = []
        var current = node
        while true {
            guard current.isDirectory else { throw .system(.ENOTDIR) }
            let (known, location) = current.state.withLock { ($0.directory, $0.latestName) }
            if var directory = known {
                for node in closed.reversed() { directory = try open(node, in: directory) }
                return directory
            }
            guard let location else { throw .system(.ESTALE) }
            closed.append(current)
            current = location.parent
        }
    }

    /// Opens the directory of a node in its parent, unless another thread has done so meanwhile.
    private func open(_ node: Node, in parent: Directory) throws(VaultError) -> Directory {
        let (directory, wasOpened) = try node.state.withLock { state throws(VaultError) -> (Directory, Bool) in
            if let directory = state.directory { return (directory, false) }
            guard let location = state.latestName else { throw .system(.ESTALE) }
            let directory = try vault.openDirectory(location.name, in: parent)
            guard case .directory(directory.identifier) = node.identity else { throw .system(.ESTALE) }
            watch(directory, of: node, &state)
            state.directory = directory
            return (directory, true)
        }
        if wasOpened { directories.opened(node) }
        return directory
    }

    /// One name of a node, and the directory that has it. Needs `tree` shared.
    func location(of node: Node) throws(VaultError) -> (name: Name, directory: Directory) {
        guard let location = node.latestName else { throw .system(.ESTALE) }
        return (location.name, try directory(of: location.parent))
    }

    /// Runs `body` with a name of the node; if that name no longer exists, with the next one. Needs `tree` shared.
    func withLocation<Result>(
        of node: Node, _ body: (Name, Directory) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        var failure = VaultError.system(.ESTALE)
        for location in node.names {
            do throws(VaultError) {
                return try body(location.name, try directory(of: location.parent))
            } catch {
                guard error == .system(.ENOENT) else { throw error }
                failure = error
            }
        }
        throw failure
    }

    /// Lends the file of a node, and opens it for that time if it is closed. Needs `tree` shared, unless a handle is
    /// open.
    func withFile<Result>(
        of node: Node, _ body: (File) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        let file = try useFile(of: node)
        defer { releaseFile(of: node) }
        return try body(file)
    }

    /// Counts a user of a node's file, to be balanced by `releaseFile`. Needs `tree` shared.
    func useFile(of node: Node) throws(VaultError) -> File {
        guard case .file(let identifier) = node.identity else { throw .system(.EISDIR) }
        let file = try nodes.update(node) { (state) throws(VaultError) in
            if state.file == nil {
                let file: File
                do throws(VaultError) { file = try open(state.names, (identifier, node.backing.inode)) } catch {
                    // On ESTALE the kernel looks the name up again. That lookup reads the header, which may belong to
                    // another file.
                    if error == .system(.ESTALE) { vault.distrustSummary(ofInode: node.backing.inode) }
                    throw error
                }
                if state.closed == nil, let seen = state.seen, seen.isSummary, seen.length != file.length {
                    // The kernel has been told another length. On ESTALE it looks the name up again.
                    state.seen = Node.ClosedFile(file.header)
                    vault.distrustSummary(ofInode: node.backing.inode)
                    throw .system(.ESTALE)
                }
                state.file = Node.OpenFile(file: file, users: 0, handles: 0)
            }
            state.file!.users += 1
            return state.file!.file
        }
        if vault.takeChangeAtOpen(of: file) { keep(node) }
        guard let shared, shared.mayChange(node) else { return file }
        do throws(VaultError) { try vault.finishRename(of: file) } catch {
            releaseFile(of: node)
            throw error
        }
        return file
    }

    /// Opens a file by one of its names. Some of them may have been removed or replaced in the backing folder itself.
    private func open(
        _ names: [Location], _ expected: (file: FileIdentifier, inode: UInt64)
    ) throws(VaultError) -> File {
        // The name was removed or replaced: on ESTALE the kernel looks it up again.
        var failure = VaultError.system(.ESTALE)
        for location in names {
            do throws(VaultError) {
                let directory = try directory(of: location.parent)
                return try vault.openFile(location.name, in: directory, expecting: expected)
            } catch {
                // The name is gone or belongs to another file, perhaps by an atomic save: on ESTALE the kernel looks it
                // up again.
                failure = isGone(expected.inode, from: location, error) ? .system(.ESTALE) : error
            }
        }
        throw failure
    }

    /// Whether the name no longer leads to the file that could not be opened. If that cannot be found out, the answer
    /// is false, and the error of the open counts.
    private func isGone(_ inode: UInt64, from location: Location, _ failure: VaultError) -> Bool {
        // A folder, a link, a FIFO or a socket, which may have got the inode number of the file.
        if [.EISDIR, .ELOOP, .ESPIPE, .ENXIO].contains(where: { failure == .system($0) }) { return true }
        do throws(VaultError) {
            let directory = try directory(of: location.parent)
            let found = try vault.status(of: location.name, in: directory).inode
            return found != inode && vault.traits.keepsInodeNumbers
        } catch { return error.isAbsence }
    }

    /// Ends a use of the file; the last user closes it and persists its length.
    func releaseFile(of node: Node) {
        var isGone = false
        let isClosed = nodes.update(node) { state in
            state.file!.users -= 1
            guard state.file!.users == 0 else { return false }
            let file = state.file!.file
            // The key goes first: the steps below may wait for the disk, and a lock must not wait for them.
            file.close()
            nodes.noteClosing(of: node, state)
            if state.isNameless {
                // If this fails, the next mount removes the file.
                try? vault.removeNameless(file)
                isGone = true
            }
            // Under the node's lock: the next open must read the header that is written here.
            do throws(VaultError) { try file.persistLength() } catch { report(error, losing: node) }
            state.closed = Node.ClosedFile(file.header)
            if state.last != nil, let status = try? file.status() { state.last?.status = status }
            state.file = nil
            return true
        }
        if isGone { nodes.unlinked(node) }
        if isClosed { nodes.closed(node) }
    }

    /// The file of a node with an open handle.
    func openFile(of node: Node) throws(VaultError) -> File {
        guard let file = node.state.withLock({ $0.file?.file }) else { throw .system(.EBADF) }
        return file
    }

    private func report(_ error: VaultError, losing node: Node) {
        log(.lost(path: node.id == .root ? "/" : "inode \(node.backing.inode)", reason: "\(error)"))
    }

    /// Runs `body` inside the gate of the file's class; throws `locked` if the gate does not admit the access.
    func withGate<Result>(
        of file: File, for access: Access, _ body: (ProtectionClass) throws(VaultError) -> Result
    ) throws(VaultError) -> Result {
        let protectionClass = try passGate(of: file, for: access)
        defer { gates.leave(protectionClass) }
        return try body(protectionClass)
    }

    /// Enters the gate of the file's class; throws `locked` if the gate does not admit the access. The caller leaves
    /// the gate of the returned class after its reply.
    func passGate(of file: File, for access: Access) throws(VaultError) -> ProtectionClass {
        while true {
            let protectionClass = try pass(file.protectionClass, for: access)
            // The class may have changed between the look and the gate.
            if file.protectionClass == protectionClass { return protectionClass }
            gates.leave(protectionClass)
        }
    }

    /// Enters the gate of a class, for an access that itself finds out, under the file's lock, whether the file still
    /// is of that class. Returns the class.
    ///
    /// The look at the class before that waits for the file's lock, so that no request waits for a flush of the file
    /// inside the gate, unless the flush begins in between.
    func pass(_ protectionClass: ProtectionClass, for access: Access) throws(VaultError) -> ProtectionClass {
        guard gates.admit(protectionClass, for: access) else { throw .locked }
        return protectionClass
    }

    /// The file has turned out to be of another class: leaves the gate that was passed, and enters that of its class.
    ///
    /// - Parameter passed: nil if this throws.
    func passOther(_ file: File, for access: Access, _ passed: inout ProtectionClass?) throws(VaultError) {
        if let old = passed { gates.leave(old) }
        passed = nil
        passed = try pass(file.protectionClass, for: access)
    }

    /// Counts a lookup of a found entry, and makes the kernel's answer.
    ///
    /// - Parameter moment: of `watched`, from before the entry was read; nil if the kernel shall soon ask again.
    func instantiate(
        _ entry: BriefEntry, at location: Location, readAfter moment: Int? = nil
    ) -> (Fuse.Entry, Node) {
        switch entry {
        case .whole(let entry): return instantiate(entry, at: location, readAfter: moment)
        case .summarized(let status, let summary):
            let file = Node.ClosedFile(summary, length: UInt64(status.size))
            return instantiate(file, summary.file, status, at: location, readAfter: moment, isSettled: true)
        }
    }

    /// Counts a lookup of a found entry, and makes the kernel's answer.
    func instantiate(
        _ entry: FoundEntry, at location: Location, readAfter moment: Int? = nil
    ) -> (Fuse.Entry, Node) {
        let inode = BackingInode(entry.status)
        let node: Node
        var isSettled = entry.status.linkCount == 1
        switch entry.details {
        case .file(let header):
            return instantiate(
                Node.ClosedFile(header), header.file, entry.status, at: location, readAfter: moment, isSettled: false)
        case .directory(let directory):
            node = look(up: inode, .directory(directory.identifier), at: location)
            let isNew = node.state.withLock { state in
                // Another machine may have renamed it since.
                guard state.directory == nil || shared != nil else { return false }
                watch(directory, of: node, &state)
                state.directory = directory
                return true
            }
            if isNew { directories.opened(node) }
            // The status was read before a folder was opened, and so before it was watched.
            isSettled = shared != nil || !isNew && node.state.withLock { $0.isWatched }
        case .other:
            node = nodes.look(up: inode, .other(entry.status.kind))
        }
        node.add(location)
        shared?.note(node, in: location.parent)
        let timeout = timeout(in: location.parent, readAfter: moment)
        let entry = Fuse.Entry(
            node, entry.status, timeout: attributeTimeout(of: node, isSettled ? timeout : self.timeout),
            entryTimeout: timeout)
        return (entry, node)
    }

    /// The node of a found entry. If the store has given it another inode number meanwhile, its node gets that too. A
    /// file of the same ID under another name may be a copy, so the name must be one of the node's.
    private func look(up inode: BackingInode, _ identity: Node.Identity, at location: Location) -> Node {
        if !vault.traits.keepsInodeNumbers, let known = nodes[identity], known.backing != inode,
            known.names.contains(location)
        {
            nodes.renumber(known, as: inode)
        }
        return nodes.look(up: inode, identity)
    }

    private func instantiate(
        _ found: Node.ClosedFile, _ identifier: FileIdentifier, _ status: FileStatus, at location: Location,
        readAfter moment: Int?, isSettled: Bool
    ) -> (Fuse.Entry, Node) {
        let node = look(up: BackingInode(status), .file(identifier), at: location)
        let (current, isOpen) = nodes.update(node) { state in
            // An open file knows more than the disk. What was read from the disk may also be older than a file that was
            // open then and has been closed since.
            var current = found
            if let file = state.file?.file {
                current = Node.ClosedFile(file.header)
            } else if let last = state.closed, last.generation > found.generation {
                current = last
            }
            state.protectionClass = current.protectionClass
            if state.closed == nil { state.seen = current }
            return (current, state.file != nil)
        }
        node.add(location)
        shared?.note(node, in: location.parent)
        var status = status
        status.size = Int64(current.length)
        let timeout = timeout(in: location.parent, readAfter: moment)
        let kept = self.timeout(for: current.protectionClass, isSettled && !isOpen ? status : nil, timeout)
        let entry = Fuse.Entry(node, status, timeout: attributeTimeout(of: node, kept), entryTimeout: timeout)
        return (entry, node)
    }

    /// In a shared vault, the kernel keeps no attributes without a lease, whose end it could not be told of: those of a
    /// new folder, or of what is known by its name alone.
    func attributeTimeout(of node: Node, _ timeout: Double) -> Double {
        guard let shared, !shared.isHeld(node) else { return timeout }
        return 0
    }

    /// Watches a folder before its first entry is read.
    private func watch(_ directory: Directory, of node: Node, _ state: inout Node.State) {
        // Each time: the inode may be another one that has got the number of the last.
        state.isWatched = watched.add(directory, node.backing)
    }

    /// Seconds for which the kernel may keep a name in a folder that was read after a moment of `watched`.
    func timeout(in folder: Node, readAfter moment: Int?) -> Double {
        if shared != nil { return moment == nil ? 0 : Self.watchedTimeout }
        guard moment != nil, folder.state.withLock({ $0.isWatched }), watched.isUnchanged(since: moment) else {
            return timeout
        }
        return Self.watchedTimeout
    }

    /// Seconds for which the kernel may keep the metadata of a file.
    ///
    /// - Parameters:
    ///   - settled: the file's status if only foreign changes can change it without a request for this file.
    ///   - timeout: of its name.
    func timeout(for protectionClass: ProtectionClass?, _ settled: FileStatus?, _ timeout: Double) -> Double {
        let isOpen = protectionClass.map { gates.state(of: $0) == .open } ?? true
        let short = isOpen ? self.timeout : 0
        // A write clears the set-user-ID and set-group-ID bits, and the kernel would not know.
        guard isOpen, let settled, settled.mode & 0o6000 == 0 else { return short }
        return timeout
    }

    /// While contents are locked, the length that lseek(2) finds through a handle is locked too: the kernel must ask
    /// each time.
    func timeout(for protectionClass: ProtectionClass?) -> Double {
        guard let protectionClass else { return timeout }
        return gates.state(of: protectionClass) == .open ? timeout : 0
    }
}
