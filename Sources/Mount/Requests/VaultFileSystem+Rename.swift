import Format
import Fuse
import Posix
import Vault

extension VaultFileSystem {
    func rename(
        _ request: Request, _ name: Name, in parent: NodeID, to newName: Name, in newParent: NodeID, flags: UInt32,
        reply: consuming Reply<Done>
    ) {
        answer(reply, parent, name) { (parent) throws(VaultError) in
            guard flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) == 0 else {
                throw .system(.EINVAL)
            }
            let old = Location(parent: parent, name: name)
            let new = Location(parent: try node(newParent), name: newName)
            let exchanges = flags & RENAME_EXCHANGE != 0
            let renameKind = RenameKind(
                noReplace: flags & RENAME_NOREPLACE != 0, leavesWhiteout: flags & RENAME_WHITEOUT != 0)
            func perform() throws(VaultError) {
                if exchanges { try exchange(old, new) } else { try move(old, to: new, renameKind) }
            }
            let isShared = try tree.withShared { () throws(VaultError) in
                guard try isFileAtMost(old), try isFileAtMost(new) else { return false }
                try perform()
                return true
            }
            if !isShared { try tree.withExclusive(perform) }
            moves.add(1, ordering: .releasing)
        }
    }

    /// Whether `tree` shared suffices for a rename: no request may walk through a directory while it moves, or look for
    /// an object that is found by its name alone.
    private func isFileAtMost(_ location: Location) throws(VaultError) -> Bool {
        do throws(VaultError) {
            return try vault.status(of: location.name, in: try directory(of: location.parent)).kind == .regular
        } catch {
            guard error == .system(.ENOENT) else { throw error }
            return true
        }
    }

    /// Needs `tree`, exclusively for a directory. The kernel holds the locks of both parents.
    private func exchange(_ first: Location, _ second: Location) throws(VaultError) {
        let (one, other) = (try found(at: first), try found(at: second))
        defer { for found in [one, other] { forget(found.node.id, count: 1) } }
        // Two links of one file: nothing to do.
        guard one.node !== other.node else { return }
        try withMoved(one) { (moved) throws(VaultError) in
            try withMoved(other) { (otherMoved) throws(VaultError) in
                try vault.exchange(
                    Exchanged(first.name, in: try directory(of: first.parent), moved),
                    Exchanged(second.name, in: try directory(of: second.parent), otherMoved))
                // While both are open: a request that found one of them closed would look for it under its old name.
                one.node.remove(first)
                one.node.add(second)
                other.node.remove(second)
                other.node.add(first)
            }
            watched.moved(one.node, to: second)
            watched.moved(other.node, to: first)
        }
    }

    /// The entry at a location, with its node, for which a lookup is counted.
    private func found(at location: Location) throws(VaultError) -> (node: Node, details: FoundEntry.Details) {
        let entry = try vault.lookup(location.name, in: try directory(of: location.parent))
        return (instantiate(entry, at: location).1, entry.details)
    }

    /// Runs `body` with an opened object that is about to be renamed.
    private func withMoved(
        _ found: (node: Node, details: FoundEntry.Details), _ body: (Moved) throws(VaultError) -> Void
    ) throws(VaultError) {
        switch found.details {
        case .file: try withFile(of: found.node) { (file) throws(VaultError) in try body(.file(file)) }
        case .directory: try body(.directory(try directory(of: found.node)))
        case .other: try body(.other)
        }
    }

    /// Needs `tree`, exclusively for a directory. The kernel holds the locks of both parents.
    private func move(_ old: Location, to new: Location, _ kind: RenameKind) throws(VaultError) {
        let directory = try directory(of: old.parent)
        let newDirectory = try self.directory(of: new.parent)
        let status = try vault.status(of: old.name, in: directory)
        let target = try target(at: new, in: newDirectory)
        let removed = target.map { self.removedEntry($0.status, new.name, in: newDirectory) }
        if let target, target.inode == BackingInode(status) { return }  // two links of one file: nothing to do
        if kind.noReplace && target != nil { throw .system(.EEXIST) }

        // Opens an empty directory that is replaced: programs that hold it open continue to use it.
        if let node = removed?.node, node.isDirectory { _ = try? self.directory(of: node) }
        var isDone = false
        let kept = removed.flatMap { keepOpen($0) }
        // If the kernel no longer knows the node, it sends no FORGET for it.
        defer { if let kept { isDone ? forget(kept.id, count: 0) : releaseKeptFile(of: kept) } }

        func perform(_ moved: Moved) throws(VaultError) {
            try vault.rename(
                old.name, in: directory, moved, to: new.name, in: newDirectory, replaced: target?.file,
                replacesDirectory: target?.status.kind == .directory, kind)
        }
        switch status.kind {
        case .regular:
            // The kernel has looked it up, so its node exists, unless the name leads to another file by now.
            let entry = try vault.lookup(old.name, in: directory)
            let (found, node) = instantiate(entry, at: old)
            defer { forget(found.node, count: 1) }
            try withFile(of: node) { (file) throws(VaultError) in
                let classBefore = file.protectionClass
                defer {
                    // The file may have taken over a class that is locked: B at any time, A during an eviction. This
                    // holds even if the rename failed and could not be undone.
                    nodes.update(node) { $0.protectionClass = file.protectionClass }
                    evictIfLocked(node, file, changedFrom: classBefore)
                }
                try perform(.file(file))
                // While it is open: a request that found it closed would look for it under its old name.
                node.remove(old)
                node.add(new)
            }
        case .directory:
            let entry = try vault.lookup(old.name, in: directory)
            let (found, node) = instantiate(entry, at: old)
            defer { forget(found.node, count: 1) }
            try perform(.directory(try self.directory(of: node)))
        default:
            try perform(.other)
        }
        if let node = nodes[BackingInode(status)] {
            node.remove(old)
            node.add(new)
            watched.moved(node, to: new)
        }
        if let removed { noteRemoval(new, of: removed) }
        isDone = true
    }

    /// Keeps a file open whose only known name goes to another file: a call may have looked it up by that name and be
    /// about to use it.
    private func keepOpen(_ removed: RemovedEntry) -> Node? {
        guard let node = removed.node, node.isFile, removed.status.linkCount == 1 || node.names.count < 2 else {
            return nil
        }
        // The first open may find that the length in the summary is wrong; the second one then reads the header.
        guard (try? useFile(of: node)) != nil || (try? useFile(of: node)) != nil else { return nil }
        node.state.withLock { $0.keepers += 1 }
        return node
    }

    private struct Target {
        let status: FileStatus
        /// Nil unless it is a regular file that is valid.
        let file: ReplacedFile?
        var inode: BackingInode { BackingInode(status) }
    }

    /// The object at the new name. A file that was valid at the last lookup and is damaged now may be replaced, and
    /// counts as of the class it had. Other damage makes the kernel's own lookup fail.
    private func target(at location: Location, in directory: Directory) throws(VaultError) -> Target? {
        do throws(VaultError) {
            let entry = try vault.lookup(location.name, in: directory)
            guard case .file(let header) = entry.details else { return Target(status: entry.status, file: nil) }
            return Target(status: entry.status, file: ReplacedFile(header))
        } catch {
            switch error {
            case .system(.ENOENT): return nil
            case .damaged:
                let status = try vault.status(of: location.name, in: directory)
                guard status.kind == .regular, let node = nodes[BackingInode(status)],
                    case .file(let identifier) = node.identity,
                    let last = node.state.withLock({ state in
                        state.file.map { Node.ClosedFile($0.file.header) } ?? state.closed
                    })
                else { throw error }
                log(error, at: location.parent, location.name)
                return Target(
                    status: status,
                    file: ReplacedFile(
                        file: identifier, protectionClass: last.protectionClass, isExplicit: last.isExplicit))
            default: throw error
            }
        }
    }
}
