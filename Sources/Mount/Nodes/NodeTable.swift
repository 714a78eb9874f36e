import Fuse
import Posix

/// All nodes that the kernel knows, by the kernel's numbers and by their backing inodes.
final class NodeTable: Sendable {
    /// Lock order: docs/ARCHITECTURE.md.
    private let state: ContendedMutex<State>
    let root: Node
    let openCounts = OpenFileCounts()

    private struct State {
        var slots = NodeSlots()
        /// The newest node of each backing inode.
        var byInode = InodeIndex()
        /// The slots of nodes with a persistent number to which `byInode` does not lead: another object has the inode
        /// by now, or none has it, or the number has a hash of it.
        var others: [NodeID: UInt32] = [:]
        var made: UInt32 = 0
        /// The folder of each node that was found by a file handle: the kernel may not know it, and a folder has one
        /// node only as long as that is in the table.
        var heldFolders: [NodeID: NodeID] = [:]
        /// The newest node of each identity, where inode numbers change; nil elsewhere.
        var byIdentity: [Node.Identity: UInt32]?
        let rootDevice: UInt32

        /// The node for a number of the kernel's.
        func find(_ id: NodeID) -> Node? {
            let slot: UInt32
            if id == .root {
                slot = 1
            } else if id.isTemporary {
                slot = id.slot
            } else {
                guard let key = InodeKey(id) else { return nil }
                let inode = BackingInode(inode: key.rawValue, device: rootDevice)
                if let node = byInode.node(of: inode, slots), node.id == id { return node }
                guard let other = others[id] else { return nil }
                slot = other
            }
            guard let node = slots[slot], node.id == id else { return nil }
            return node
        }

        mutating func add(_ inode: BackingInode, _ identity: Node.Identity) -> Node {
            let id = NodeID(persistent: inode.inode, identity)
            let isFree =
                byIdentity == nil && inode.device == rootDevice && id.rawValue > NodeID.root.rawValue && find(id) == nil
            if !isFree { made = max(made &+ 1 & 0x7fff_ffff, 1) }
            let node = slots.add { Node(slot: $0, made: isFree ? 0 : made, backing: inode, identity: identity) }
            slots[lookupsOf: node.slot] = 1
            if let old = byInode.node(of: inode, slots) { displace(old) }
            byInode.insert(node.slot, of: inode, slots)
            if node.hasIdentifier { byIdentity?[identity] = node.slot }
            if isFree, InodeKey(inode.inode).rawValue != inode.inode { others[id] = node.slot }
            return node
        }

        /// `byInode` no longer leads to the node.
        private mutating func displace(_ node: Node) {
            if !node.id.isTemporary, node.id != .root { others[node.id] = node.slot }
        }

        mutating func remove(_ node: Node) -> Node? {
            if byInode.node(of: node.backing, slots) === node { byInode.remove(node.backing, slots) }
            if !others.isEmpty, others[node.id] == node.slot { others[node.id] = nil }
            if byIdentity?[node.identity] == node.slot { byIdentity?[node.identity] = nil }
            return slots.remove(node.slot)
        }

        mutating func renumber(_ node: Node, as inode: BackingInode) {
            guard slots[node.slot] === node, node.backing.device == inode.device else { return }
            if byInode.node(of: node.backing, slots) === node { byInode.remove(node.backing, slots) }
            if let old = byInode.node(of: inode, slots) { displace(old) }
            node.renumber(as: inode)
            byInode.insert(node.slot, of: inode, slots)
        }

        /// Undoes the lookup that a removed node held; returns the folder.
        mutating func releaseFolder(of id: NodeID) -> Node? {
            guard !heldFolders.isEmpty, let folder = heldFolders.removeValue(forKey: id), folder != .root,
                let node = find(folder)
            else { return nil }
            slots[lookupsOf: node.slot] -= min(1, slots[lookupsOf: node.slot])
            return node
        }

        mutating func unlink(_ node: Node) {
            guard byInode.node(of: node.backing, slots) === node else { return }
            byInode.remove(node.backing, slots)
            displace(node)
        }
    }

    /// - Parameter keepsInodeNumbers: whether an inode of the backing store always has the same number.
    init(root: Node, keepsInodeNumbers: Bool = true) {
        precondition(root.id == .root)
        self.root = root
        var state = State(byIdentity: keepsInodeNumbers ? nil : [:], rootDevice: root.backing.device)
        // The root has the first slot, as its number says.
        _ = state.slots.add { _ in root }
        state.slots[lookupsOf: root.slot] = 1
        state.byInode.insert(root.slot, of: root.backing, state.slots)
        self.state = ContendedMutex(state)
    }

    /// The node of a number; nil for a forgotten one, which the kernel does not use.
    subscript(id: NodeID) -> Node? {
        state.withLock { $0.find(id) }
    }

    /// The newest node of an identity, where inode numbers change; nil elsewhere.
    subscript(identity: Node.Identity) -> Node? {
        state.withLock { state in state.byIdentity?[identity].flatMap { state.slots[$0] } }
    }

    /// The store has given the inode of a node another number. Only where inode numbers change.
    func renumber(_ node: Node, as inode: BackingInode) { state.withLock { $0.renumber(node, as: inode) } }

    subscript(inode: BackingInode) -> Node? {
        state.withLock { $0.byInode.node(of: inode, $0.slots) }
    }

    /// Counts a lookup of an inode, and creates its node if there is none.
    func look(up inode: BackingInode, _ identity: Node.Identity) -> Node {
        state.withLock { state in
            if let node = state.byInode.node(of: inode, state.slots), node.identity == identity {
                state.slots[lookupsOf: node.slot] += 1
                return node
            }
            return state.add(inode, identity)
        }
    }

    /// Counts a lookup of a number; nil if its node is forgotten.
    func look(up id: NodeID) -> Node? {
        state.withLock { state in
            guard let node = state.find(id) else { return nil }
            state.slots[lookupsOf: node.slot] += 1
            return node
        }
    }

    /// Counts a lookup of the folder that has an inode; nil if there is none, or no node for it.
    func look(upFolder inode: InodeKey) -> Node? {
        state.withLock { state in
            let inode = BackingInode(inode: inode.rawValue, device: state.rootDevice)
            guard let node = state.byInode.node(of: inode, state.slots), node.isDirectory else { return nil }
            state.slots[lookupsOf: node.slot] += 1
            return node
        }
    }

    /// Takes over a counted lookup of a folder: it is undone when the node of an entry in that folder is forgotten.
    func hold(_ folder: Node, for node: Node) {
        let isHeld = state.withLock { state in
            guard state.heldFolders[node.id] == nil else { return false }
            state.heldFolders[node.id] = folder.id
            return true
        }
        if !isHeld { forget(folder.id, count: 1) }
    }

    /// Undoes `count` lookups; the last one removes the node. Returns the node if its file is still open.
    @discardableResult func forget(_ id: NodeID, count: UInt64) -> Node? {
        remove(id) { state, node in
            state.slots[lookupsOf: node.slot] -= min(count, state.slots[lookupsOf: node.slot])
        }
    }

    /// Removes a node that the kernel has forgotten already, once its file is closed.
    func closed(_ node: Node) { _ = remove(node.id) { _, _ in } }

    /// Removes a node that has no lookups after `body`, unless its file is open: the RELEASE of a file and the FORGET
    /// of its inode may arrive in either order. Then it returns the node.
    private func remove(_ id: NodeID, _ body: (inout State, Node) -> Void) -> Node? {
        var gone: [Node] = []
        let open: Node? = state.withLock { state in
            guard id != .root, let node = state.find(id) else { return nil }
            body(&state, node)
            var next: Node? = node
            while let node = next, state.slots[lookupsOf: node.slot] == 0 {
                if node.isOpen { return node }
                if let removed = state.remove(node) { gone.append(removed) }
                next = state.releaseFolder(of: node.id)
            }
            return nil
        }
        // Outside of the lock: this may free the nodes above too.
        withExtendedLifetime(gone) {}
        return open
    }

    /// The backing inode is gone, and its number may come back as another file.
    func unlinked(_ node: Node) {
        state.withLock { $0.unlink(node) }
    }

    /// All present nodes.
    var all: [Node] {
        state.withLock { $0.slots.filter { _ in true } }
    }

    /// The nodes whose files are in use. They are few, so this does not look into the others, which may be a million.
    var open: [Node] {
        state.withLock { $0.slots.filter { $0.isOpen } }
    }

    /// The nodes of which the kernel may hold pages.
    var withPages: [Node] {
        state.withLock { $0.slots.filter { $0.flags.load(ordering: .sequentiallyConsistent).mayHavePages } }
    }

    var count: Int { state.withLock { $0.slots.count } }
}
