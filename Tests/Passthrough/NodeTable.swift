import Fuse
import Posix
import Synchronization

/// An inode that the kernel knows.
final class Node: Sendable {
    let id: NodeID
    /// Opened with O_PATH: one descriptor per inode, which is what bounds the size of the trees that this can serve.
    let file: Descriptor
    let key: Key

    struct Key: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }

    init(id: NodeID, file: Descriptor, key: Key) {
        self.id = id
        self.file = file
        self.key = key
    }
}

/// The inodes that the kernel knows, each with the number of lookups that it has not given back.
final class NodeTable: Sendable {
    private struct State {
        var nodes: [NodeID: Node] = [:]
        var ids: [Node.Key: NodeID] = [:]
        var lookups: [NodeID: UInt64] = [:]
        var last = NodeID.root.rawValue
    }

    private let state = Mutex(State())

    init(root: Descriptor) throws(Errno) {
        let status = try root.status()
        let key = Node.Key(status)
        state.withLock { state in
            state.nodes[.root] = Node(id: .root, file: root, key: key)
            state.ids[key] = .root
            state.lookups[.root] = 1
        }
    }

    subscript(id: NodeID) -> Node {
        get throws(Errno) {
            guard let node = state.withLock({ $0.nodes[id] }) else { throw .ESTALE }
            return node
        }
    }

    var all: [NodeID] { state.withLock { Array($0.nodes.keys) } }

    /// The node of an inode, a new one if the kernel does not know it yet. Counts as a lookup.
    func remember(_ file: Descriptor, _ status: FileStatus) -> NodeID {
        let key = Node.Key(status)
        return state.withLock { state in
            if let id = state.ids[key] {
                state.lookups[id, default: 0] += 1
                return id
            }
            state.last += 1
            let id = NodeID(rawValue: state.last)
            state.nodes[id] = Node(id: id, file: file, key: key)
            state.ids[key] = id
            state.lookups[id] = 1
            return id
        }
    }

    func forget(_ id: NodeID, count: UInt64) {
        // The descriptor is closed after the lock is let go.
        let forgotten = state.withLock { state -> Node? in
            guard let lookups = state.lookups[id] else { return nil }
            state.lookups[id] = lookups - min(count, lookups)
            guard lookups <= count, let node = state.nodes.removeValue(forKey: id) else { return nil }
            state.ids[node.key] = nil
            state.lookups[id] = nil
            return node
        }
        withExtendedLifetime(forgotten) {}
    }

    func removeAll() {
        state.withLock { $0 = State() }
    }
}
