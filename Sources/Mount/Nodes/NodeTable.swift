import Fuse
import Posix
import Synchronization

/// All nodes that the kernel knows, by the kernel's numbers and by their backing inodes.
final class NodeTable: Sendable {
    /// Lock order: docs/ARCHITECTURE.md.
    private let state: Mutex<State>
    let root: Node
    let openCounts = OpenFileCounts()

    private struct State {
        var slots = NodeSlots()
        /// The newest node of each backing inode.
        var byInode = InodeIndex()
        var made: UInt32 = 0

        /// The node for a number of the kernel's, and its slot.
        func find(_ id: NodeID) -> (node: Node, number: UInt32)? {
            let number = id.slot
            guard let node = slots[number], node.id == id else { return nil }
            return (node, number)
        }

        mutating func remove(_ node: Node) -> Node? {
            forget(node.backing, of: node)
            return slots.remove(node.id.slot)
        }

        mutating func forget(_ inode: BackingInode, of node: Node) {
            if byInode.node(of: inode, slots) === node { byInode.remove(inode, slots) }
        }
    }

    init(root: Node) {
        precondition(root.id == .root)
        self.root = root
        var state = State()
        // The root has the first number, as the kernel expects.
        _ = state.slots.add { _ in root }
        state.slots[lookupsOf: root.id.slot] = 1
        state.byInode.insert(root.id.slot, of: root.backing, state.slots)
        self.state = Mutex(state)
    }

    /// The node of a number; nil for a forgotten one, which the kernel does not use.
    subscript(id: NodeID) -> Node? {
        state.withLock { $0.find(id)?.node }
    }

    subscript(inode: BackingInode) -> Node? {
        state.withLock { $0.byInode.node(of: inode, $0.slots) }
    }

    /// Counts a lookup of an inode, and creates its node if there is none.
    func look(up inode: BackingInode, _ identity: Node.Identity) -> Node {
        state.withLock { state in
            if let node = state.byInode.node(of: inode, state.slots), node.identity == identity {
                state.slots[lookupsOf: node.id.slot] += 1
                return node
            }
            state.made &+= 1
            let made = state.made
            let node = state.slots.add { Node(id: NodeID(slot: $0, made: made), backing: inode, identity: identity) }
            state.slots[lookupsOf: node.id.slot] = 1
            state.byInode.insert(node.id.slot, of: inode, state.slots)
            return node
        }
    }

    /// Undoes `count` lookups; the last one removes the node. Returns the node if its file is still open.
    @discardableResult func forget(_ id: NodeID, count: UInt64) -> Node? {
        let (gone, open): (Node?, Node?) = state.withLock { state in
            guard id != .root, let (node, number) = state.find(id) else { return (nil, nil) }
            state.slots[lookupsOf: number] -= min(count, state.slots[lookupsOf: number])
            guard state.slots[lookupsOf: number] == 0 else { return (nil, nil) }
            // The RELEASE of a file and the FORGET of its inode may arrive in either order.
            guard !node.isOpen else { return (nil, node) }
            return (state.remove(node), nil)
        }
        // Outside of the lock: this may free the nodes above too.
        withExtendedLifetime(gone) {}
        return open
    }

    /// Removes a node that the kernel has forgotten already, once its file is closed.
    func closed(_ node: Node) {
        let gone: Node? = state.withLock { state in
            guard state.find(node.id) != nil, state.slots[lookupsOf: node.id.slot] == 0 else { return nil }
            guard !node.isOpen else { return nil }
            return state.remove(node)
        }
        withExtendedLifetime(gone) {}
    }

    /// The backing inode is gone, and its number may come back as another file.
    func unlinked(_ node: Node) {
        state.withLock { $0.forget(node.backing, of: node) }
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

extension NodeID {
    /// Unique for ever: a slot's number, and a count of the nodes made so far.
    fileprivate init(slot: UInt32, made: UInt32) {
        self.init(rawValue: UInt64(made) << 32 | UInt64(slot))
    }

    fileprivate var slot: UInt32 { UInt32(truncatingIfNeeded: rawValue) }
}
