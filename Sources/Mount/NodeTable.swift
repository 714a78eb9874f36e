import Fuse
import Posix
import Synchronization

/// All nodes that the kernel knows, by its number for them and by their backing inode.
final class NodeTable: Sendable {
    private let state: Mutex<State>
    let root: Node

    fileprivate struct State {
        var nodes: [NodeID: Known]
        /// The newest node of each backing inode.
        var byInode: [BackingInode: Node]
        var nextID: UInt64 = 2

        mutating func remove(_ node: Node) {
            nodes[node.id] = nil
            if byInode[node.backing] === node { byInode[node.backing] = nil }
        }
    }

    fileprivate struct Known {
        let node: Node
        /// Lookups that the kernel has yet to give back.
        var lookups: UInt64
    }

    init(root: Node) {
        self.root = root
        state = Mutex(State(nodes: [root.id: Known(node: root, lookups: 1)], byInode: [root.backing: root]))
    }

    /// The node of a number; nil for one that was forgotten, which the kernel does not ask for.
    subscript(id: NodeID) -> Node? {
        state.withLock { $0.nodes[id]?.node }
    }

    subscript(inode: BackingInode) -> Node? {
        state.withLock { $0.byInode[inode] }
    }

    /// Counts a lookup of an inode, which makes its node when it has none.
    func look(up inode: BackingInode, _ identity: Node.Identity) -> Node {
        state.withLock { state in
            if let node = state.byInode[inode], node.identity == identity {
                // A node that was forgotten while its last handle was being closed is known again.
                state.nodes[node.id, default: Known(node: node, lookups: 0)].lookups += 1
                return node
            }
            let node = Node(id: NodeID(rawValue: state.nextID), backing: inode, identity: identity)
            state.nextID += 1
            state.nodes[node.id] = Known(node: node, lookups: 1)
            state.byInode[inode] = node
            return node
        }
    }

    /// Takes lookups back; the last one ends the node. It is returned if its file is open still.
    @discardableResult func forget(_ id: NodeID, count: UInt64) -> Node? {
        state.withLock { state in
            guard id != .root, var known = state.nodes[id] else { return nil }
            known.lookups -= min(count, known.lookups)
            if known.lookups > 0 {
                state.nodes[id] = known
                return nil
            }
            // The kernel's release of a file and its forget of the inode may overtake each other here.
            if known.node.isOpen.load(ordering: .sequentiallyConsistent) {
                state.nodes[id] = known
                return known.node
            }
            state.remove(known.node)
            return nil
        }
    }

    /// Ends a node that the kernel has forgotten already, once its file is closed.
    func closed(_ node: Node) {
        state.withLock { state in
            guard let known = state.nodes[node.id], known.lookups == 0 else { return }
            guard !node.isOpen.load(ordering: .sequentiallyConsistent) else { return }
            state.remove(node)
        }
    }

    /// The backing inode is gone and its number may come back as another file.
    func unlinked(_ node: Node) {
        state.withLock { state in
            if state.byInode[node.backing] === node { state.byInode[node.backing] = nil }
        }
    }

    /// All nodes of now.
    var all: [Node] {
        state.withLock { $0.nodes.values.map(\.node) }
    }

    var count: Int { state.withLock { $0.nodes.count } }
}
