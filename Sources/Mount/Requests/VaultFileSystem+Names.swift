import Format
import Fuse
import Posix
import Vault

// Requests on names, which work in every lock state.

extension VaultFileSystem {
    func lookup(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Fuse.Entry>) {
        // What another machine has left is looked for once, before a name counts as missing.
        if vault.takesTurns, let node = nodes[parent], isMissing(name, in: node) { _ = takeInOrTell(node) }
        answerEntry(reply, in: parent, name) { (parent) throws(VaultError) in
            let directory = try directory(of: parent)
            let moment = self.moment
            let found = try vault.lookupInBrief(name, in: directory)
            return instantiate(found, at: Location(parent: parent, name: name), readAfter: moment).0
        }
    }

    private func isMissing(_ name: Name, in node: Node) -> Bool {
        guard node.isDirectory else { return false }
        do throws(VaultError) {
            return try tree.withShared { () throws(VaultError) in
                let directory = try directory(of: node)
                guard vault.mayTakeIn(directory) else { return false }
                _ = try vault.kind(of: name, in: directory)
                return false
            }
        } catch { return error == .system(.ENOENT) }
    }

    /// Runs `body` with `tree` shared and answers with its entry. If the kernel does not take the reply, undoes the
    /// lookup that `body` counted.
    func answerEntry(
        _ reply: consuming Reply<Fuse.Entry>, in parent: NodeID, _ name: Name,
        _ body: (Node) throws(VaultError) -> Fuse.Entry
    ) {
        let entry: Fuse.Entry
        do throws(VaultError) {
            let node = try node(parent)
            do throws(VaultError) {
                entry = try vault.reclaimingSpace { () throws(VaultError) in
                    try tree.withShared { () throws(VaultError) in try body(node) }
                }
            } catch {
                log(error, at: node, name)
                throw error
            }
        } catch { return reply.fail(error.errno) }
        if !reply.succeed(entry) { forget(entry.node, count: 1) }
    }

    /// Answers without a result.
    func answer(
        _ reply: consuming Reply<Done>, _ id: NodeID, _ name: Name? = nil, _ body: (Node) throws(VaultError) -> Void
    ) {
        do throws(VaultError) {
            let node = try node(id)
            do throws(VaultError) {
                try vault.reclaimingSpace { () throws(VaultError) in try body(node) }
            } catch {
                log(error, at: node, name)
                throw error
            }
        } catch { return reply.fail(error.errno) }
        reply.succeed()
    }

    func forget(_ id: NodeID, count: UInt64) {
        if let node = nodes.forget(id, count: count) { releaseKeptFile(of: node) }
    }

    /// Releases a file that was kept open for late requests: no request for it can come any more.
    func releaseKeptFile(of node: Node) {
        let keepers = node.state.withLock { state in
            defer { state.keepers = 0 }
            return state.keepers
        }
        for _ in 0..<keepers { releaseFile(of: node) }
    }

    func mkdir(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, reply: consuming Reply<Fuse.Entry>
    ) {
        answerEntry(reply, in: parent, name) { (parent) throws(VaultError) in
            let directory = try directory(of: parent)
            keep(Location(parent: parent, name: name))
            try vault.makeDirectory(name, in: directory, request.ownership(mode))
            return instantiate(try vault.lookup(name, in: directory), at: Location(parent: parent, name: name)).0
        }
    }

    func symlink(
        _ request: Request, _ name: Name, in parent: NodeID, target: [UInt8], reply: consuming Reply<Fuse.Entry>
    ) {
        answerEntry(reply, in: parent, name) { (parent) throws(VaultError) in
            let directory = try directory(of: parent)
            keep(Location(parent: parent, name: name))
            try vault.makeSymbolicLink(to: target, name, in: directory, user: request.user, group: request.group)
            return instantiate(try vault.lookup(name, in: directory), at: Location(parent: parent, name: name)).0
        }
    }

    func mknod(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, device: UInt64,
        reply: consuming Reply<Fuse.Entry>
    ) {
        answerEntry(reply, in: parent, name) { (parent) throws(VaultError) in
            let directory = try directory(of: parent)
            let location = Location(parent: parent, name: name)
            if FileKind(mode: mode) == .regular {
                let (entry, node, _) = try makeFile(
                    location, in: directory, request.ownership(mode), opening: nil)
                releaseFile(of: node)
                return entry
            }
            keep(location)
            try vault.makeNode(name, in: directory, mode: mode, device: device, request.ownership(mode))
            return instantiate(try vault.lookup(name, in: directory), at: location).0
        }
    }

    func readlink(_ request: Request, _ id: NodeID, reply: consuming Reply<LinkTarget>) {
        let target: [UInt8]
        do throws(VaultError) {
            let node = try node(id)
            target = try tree.withShared { () throws(VaultError) in
                if let target = node.state.withLock({ $0.last?.target }) { return target }
                let (name, directory) = try location(of: node)
                return try vault.readSymbolicLink(name, in: directory)
            }
        } catch {
            log(error, at: nodes[id])
            return reply.fail(error.errno)
        }
        reply.succeed(target)
    }

    func unlink(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        answer(reply, parent, name) { (parent) throws(VaultError) in
            let location = Location(parent: parent, name: name)
            func unlink(alone: Bool) throws(VaultError) -> Bool {
                let directory = try directory(of: parent)
                var removed: RemovedEntry?
                let isDone = try vault.unlink(name, in: directory, of: removed?.node?.fileIdentifier) {
                    (own) throws(VaultError) in
                    guard alone || !isKnownByName(own.kind) else { return false }
                    let status = own.kind == .symbolicLink ? try vault.status(of: name, in: directory) : own
                    removed = self.removedEntry(status, name, in: directory)
                    return true
                }
                if isDone, let removed { noteRemoval(location, of: removed) }
                return isDone
            }
            if try tree.withShared({ () throws(VaultError) in try unlink(alone: false) }) { return }
            _ = try tree.withExclusive { () throws(VaultError) in try unlink(alone: true) }
        }
    }

    /// Symbolic links, FIFOs and other special files can be found by name only. Their names are removed with `tree`
    /// exclusive, while no request uses them.
    func isKnownByName(_ kind: FileKind?) -> Bool { kind != .regular && kind != .directory }

    /// An object that is about to lose a name. Its node is looked up before: afterwards the inode number is free, and a
    /// new file may get it at once.
    struct RemovedEntry {
        let status: FileStatus
        let node: Node?
        /// Nil unless it is a symbolic link.
        let target: [UInt8]?
    }

    func removedEntry(_ status: FileStatus, _ name: Name, in directory: Directory) -> RemovedEntry {
        let node = nodes[BackingInode(status)]
        let isRead = node != nil && status.kind == .symbolicLink
        return RemovedEntry(
            status: status, node: node, target: isRead ? try? vault.readSymbolicLink(name, in: directory) : nil)
    }

    /// A name was removed, or given to another object.
    func noteRemoval(_ location: Location, of removed: RemovedEntry) {
        guard let node = removed.node else { return }
        var status = removed.status
        status.linkCount -= min(1, status.linkCount)
        node.remove(location, keeping: (status, removed.target))
        if node.isDirectory || status.linkCount == 0 { nodes.unlinked(node) }
    }

    func rmdir(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        answer(reply, parent, name) { (parent) throws(VaultError) in
            try tree.withShared { () throws(VaultError) in
                let directory = try directory(of: parent)
                let removed = self.removedEntry(try vault.status(of: name, in: directory), name, in: directory)
                // Opens the directory: programs that hold it open continue to use it, and without a name it could not
                // be opened later.
                let known = removed.node.flatMap { $0.isDirectory ? try? self.directory(of: $0) : nil }
                try vault.removeDirectory(name, in: directory, known: known)
                noteRemoval(Location(parent: parent, name: name), of: removed)
            }
        }
    }

    func link(
        _ request: Request, _ id: NodeID, as newName: Name, in newParent: NodeID, reply: consuming Reply<Fuse.Entry>
    ) {
        answerEntry(reply, in: newParent, newName) { (newParent) throws(VaultError) in
            let node = try node(id)
            let newDirectory = try directory(of: newParent)
            keep(Location(parent: newParent, name: newName))
            func link(_ file: File?) throws(VaultError) {
                try withLocation(of: node) { (name, directory) throws(VaultError) in
                    try vault.link(name, in: directory, file: file, to: newName, in: newDirectory)
                }
            }
            if node.state.withLock({ $0.isNameless }) {
                try withFile(of: node) { (file) throws(VaultError) in
                    try vault.giveName(newName, in: newDirectory, to: file)
                    // While the file is in use here: its last handle may be closed concurrently.
                    node.state.withLock { $0.isNameless = false }
                }
            } else if node.isFile {
                try withFile(of: node) { (file) throws(VaultError) in try link(file) }
            } else {
                try link(nil)
            }
            moves.add(1, ordering: .releasing)
            let location = Location(parent: newParent, name: newName)
            return instantiate(try vault.lookup(newName, in: newDirectory), at: location).0
        }
    }
}

extension Request {
    /// The caller as the owner of a new object.
    func ownership(_ mode: UInt32) -> Ownership {
        Ownership(mode: mode & 0o7777, user: user, group: group, umask: umask)
    }
}
