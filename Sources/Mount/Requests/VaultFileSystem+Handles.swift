import Format
import Fuse
import Posix
import Vault

// Nodes that the kernel has forgotten, or never knew in this mount, found by a file handle: for open_by_handle_at(2)
// and for servers such as NFS. The kernel looks up `.` in the node that it wants back, and `..` for a node's folder.
//
// Source: fuse_get_dentry and fuse_get_parent in fs/fuse/inode.c.

extension VaultFileSystem {
    /// A walk that misses an object because a name moved meanwhile is made again, but no more often than this.
    private static let mostWalks = 3

    /// What is not there answers ENOENT; the program that has the handle sees ESTALE.
    func lookupHandle(_ request: Request, _ id: NodeID, reply: consuming Reply<Fuse.Entry>) {
        if let node = nodes.look(up: id) { return answer(reply) { () throws(VaultError) in node } }
        // On a thread of its own: it may take minutes, and other requests must find a worker meanwhile.
        let owed = OwedReply(reply)
        handles.add { [self] in
            let found = Result { () throws(VaultError) in try find(id) { hasEnded || owed.isInterrupted } }
            if let reply = owed.take() { answer(reply) { () throws(VaultError) in try found.get() } }
        }
    }

    func lookupParent(_ request: Request, _ id: NodeID, reply: consuming Reply<Fuse.Entry>) {
        answer(reply) { () throws(VaultError) in try folder(of: try node(id)) }
    }

    private var hasEnded: Bool { isEnding.load(ordering: .relaxed) }

    /// Answers with the node that `find` returns, with a lookup counted.
    private func answer(_ reply: consuming Reply<Fuse.Entry>, _ find: () throws(VaultError) -> Node) {
        let entry: Fuse.Entry
        do throws(VaultError) { entry = try answer(for: try find()) } catch {
            return reply.fail(error.isLostHandle ? .ENOENT : error.errno)
        }
        if !reply.succeed(entry) { forget(entry.node, count: 1) }
    }

    /// The answer for a node, of which a lookup was counted; undoes that if it fails.
    private func answer(for node: Node) throws(VaultError) -> Fuse.Entry {
        do throws(VaultError) {
            let (status, protectionClass, _) = try status(of: node)
            return Fuse.Entry(
                node, status, timeout: timeout(for: protectionClass), entryTimeout: self.timeout)
        } catch {
            forget(node.id, count: 1)
            throw error
        }
    }

    /// The folder of a node, with a lookup counted.
    private func folder(of node: Node) throws(VaultError) -> Node {
        guard node.id != .root else { return nodes.root }
        return try tree.withShared { () throws(VaultError) in
            guard let folder = node.latestName?.parent else { throw .system(.ENOENT) }
            if folder.id == .root { return folder }
            if let known = nodes.look(up: folder.id) { return known }
            guard let location = folder.latestName else { throw .system(.ENOENT) }
            let found = try vault.lookupInBrief(location.name, in: try directory(of: location.parent))
            return instantiate(found, at: location).1
        }
    }

    /// The node of a handle, with a lookup counted.
    ///
    /// - Throws: EINTR once `mustStop` is true; an error of the store if a folder could not be read in which the object
    ///   may be.
    private func find(_ id: NodeID, mustStop: () -> Bool) throws(VaultError) -> Node {
        if let node = nodes.look(up: id) { return node }
        guard let inode = InodeKey(id) else { throw .system(.ENOENT) }
        var isCertain = false
        for turn in 0...Self.mostWalks {
            if let node = try descend(to: inode, id) { return node }
            if isCertain || turn == Self.mostWalks { break }
            let before = moves.load(ordering: .acquiring)
            parents.replace(try walk(mustStop: mustStop))
            isCertain = moves.load(ordering: .acquiring) == before
        }
        throw parents.failure ?? .system(.ENOENT)
    }

    /// Goes down the way that the last walk has found, from the last folder on it that has a node, and counts a lookup
    /// of the node at its end. Nil if the way does not lead to the object.
    private func descend(to inode: InodeKey, _ id: NodeID) throws(VaultError) -> Node? {
        guard var way = parents.way(to: inode, from: InodeKey(nodes.root.backing.inode))?[...] else { return nil }
        var node = nodes.root
        if let (known, index) = way.indices.reversed().lazy.compactMap({ index in
            self.nodes.look(upFolder: way[index]).map { ($0, index) }
        }).first {
            node = known
            way = way[(index + 1)...]
        }
        var isFound = false
        defer { if !isFound { forget(node.id, count: 1) } }
        for inode in way {
            guard let next = try entry(inode, in: node) else { return nil }
            // From here on the node above stays as long as this one.
            nodes.hold(node, for: next)
            node = next
        }
        isFound = node.id == id
        return isFound ? node : nil
    }

    /// The node of the entry of a folder that has this inode, with a lookup counted; nil if there is none.
    private func entry(_ inode: InodeKey, in folder: Node) throws(VaultError) -> Node? {
        do throws(VaultError) {
            return try tree.withShared { () throws(VaultError) in
                let directory = try directory(of: folder)
                let entries = try vault.entries(of: directory) { InodeKey($0) == inode }
                guard let entry = entries.first else { return nil }
                let found = try vault.lookupInBrief(entry, in: directory)
                return instantiate(found, at: Location(parent: folder, name: entry.name)).1
            }
        } catch {
            guard error.isLostHandle else { throw error }
            return nil
        }
    }
}

extension VaultError {
    /// The object is not where it was.
    fileprivate var isLostHandle: Bool { isAbsence || self == .system(.ESTALE) }
}

extension Fuse.Entry {
    /// What the kernel is to know of a node.
    init(
        _ node: Node, _ status: FileStatus, timeout: Double, entryTimeout: Double
    ) {
        self.init(
            node: node.id, generation: node.identity.generation, status: status, attributeTimeout: timeout,
            entryTimeout: entryTimeout)
    }
}
