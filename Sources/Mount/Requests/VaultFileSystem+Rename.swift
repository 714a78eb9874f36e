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
            func perform(_ ends: Ends) throws(VaultError) {
                keep(new)
                if exchanges { keep(old) }
                if exchanges { try exchange(old, new) } else { try move(old, to: new, ends, renameKind) }
            }
            let isShared = try tree.withShared { () throws(VaultError) in
                let ends = try ends(old, new)
                guard ends.areFilesAtMost else { return false }
                try perform(ends)
                return true
            }
            if !isShared { try tree.withExclusive { () throws(VaultError) in try perform(try ends(old, new)) } }
            moves.add(1, ordering: .releasing)
        }
    }

    /// The two names of a rename, and what has them.
    private struct Ends {
        let old: RenameEnd
        let new: RenameEnd
        /// As stat(2) shows it, as the next one.
        let source: FileStatus
        /// Nil if nothing has the new name.
        let standing: FileStatus?

        /// Whether `tree` shared suffices for the rename: no request may walk through a directory while it moves, or
        /// look for an object that is found by its name alone.
        var areFilesAtMost: Bool { source.kind == .regular && standing.map { $0.kind == .regular } ?? true }
    }

    /// Needs `tree`. The kernel holds the locks of both parents.
    private func ends(_ old: Location, _ new: Location) throws(VaultError) -> Ends {
        let oldEnd = try vault.renameEnd(old.name, in: try directory(of: old.parent))
        guard let source = try shownStatus(of: oldEnd) else { throw .system(.ENOENT) }
        let newEnd = try vault.renameEnd(new.name, in: try directory(of: new.parent))
        return Ends(old: oldEnd, new: newEnd, source: source, standing: try shownStatus(of: newEnd))
    }

    private func shownStatus(of end: RenameEnd) throws(VaultError) -> FileStatus? {
        guard end.status?.kind == .symbolicLink else { return end.status }
        return try vault.status(of: end.name, in: end.parent)
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
    private func move(
        _ old: Location, to new: Location, _ ends: Ends, _ kind: RenameKind
    ) throws(VaultError) {
        let (directory, newDirectory) = (ends.old.parent, ends.new.parent)
        let status = ends.source
        // Two links of one file: nothing to do.
        if let standing = ends.standing, BackingInode(standing) == BackingInode(status) { return }
        if kind.noReplace && ends.standing != nil { throw .system(.EEXIST) }
        let removed = ends.standing.map { self.removedEntry($0, new.name, in: newDirectory) }

        // Opens an empty directory that is replaced: programs that hold it open continue to use it.
        if let node = removed?.node, node.isDirectory { _ = try? self.directory(of: node) }
        var isDone = false
        let kept = removed.flatMap { keepOpen($0) }
        // If the kernel no longer knows the node, it sends no FORGET for it.
        defer { if let kept { isDone ? forget(kept.id, count: 0) : releaseKeptFile(of: kept) } }
        let replaced = try ends.standing.flatMap { (standing) throws(VaultError) in
            try replacedFile(at: new, in: newDirectory, standing, kept)
        }

        func perform(_ moved: Moved) throws(VaultError) {
            try vault.rename(ends.old, moved, to: ends.new, replaced: replaced, kind)
        }
        switch status.kind {
        case .regular:
            try withFile(at: old, in: directory, status) { (node, file) throws(VaultError) in
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

    /// Runs `body` with the open file that a name leads to.
    ///
    /// - Parameter status: of the name.
    private func withFile(
        at location: Location, in directory: Directory, _ status: FileStatus,
        _ body: (Node, File) throws(VaultError) -> Void
    ) throws(VaultError) {
        // The kernel has looked the name up, so its node exists, unless the name leads to another file by now.
        if let node = nodes[BackingInode(status)], node.names.contains(location), let file = try? useFile(of: node) {
            defer { releaseFile(of: node) }
            return try body(node, file)
        }
        let (found, node) = instantiate(try vault.lookup(location.name, in: directory), at: location)
        defer { forget(found.node, count: 1) }
        try withFile(of: node) { (file) throws(VaultError) in try body(node, file) }
    }

    /// The file at the new name; nil unless it is a regular file. One that was valid at the last lookup and is damaged
    /// now may be replaced, and counts as of the class it had. Other damage makes the kernel's own lookup fail.
    ///
    /// - Parameters:
    ///   - standing: the status of the new name.
    ///   - kept: the node, if its file is kept open.
    private func replacedFile(
        at location: Location, in directory: Directory, _ standing: FileStatus, _ kept: Node?
    ) throws(VaultError) -> ReplacedFile? {
        if let file = kept?.state.withLock({ $0.file?.file }) { return ReplacedFile(file.header) }
        guard standing.kind == .regular || standing.kind == .directory else { return nil }
        do throws(VaultError) {
            let entry = try vault.lookup(location.name, in: directory)
            guard case .file(let header) = entry.details else { return nil }
            return ReplacedFile(header)
        } catch {
            switch error {
            case .system(.ENOENT): return nil
            case .damaged:
                guard standing.kind == .regular, let node = nodes[BackingInode(standing)],
                    case .file(let identifier) = node.identity,
                    let last = node.state.withLock({ state in
                        state.file.map { Node.ClosedFile($0.file.header) } ?? state.closed
                    })
                else { throw error }
                log(error, at: location.parent, location.name)
                return ReplacedFile(
                    file: identifier, protectionClass: last.protectionClass, isExplicit: last.isExplicit)
            default: throw error
            }
        }
    }
}
