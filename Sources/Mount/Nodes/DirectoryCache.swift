import Fuse
import Posix
import Synchronization

/// Bounds the number of open directories: a tree may have more of them than the process may have descriptors.
final class DirectoryCache: Sendable {
    /// By number, not by reference: a node that the kernel forgets is freed at once, with its descriptor.
    ///
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let queue = Mutex<(ids: [NodeID], next: Int)>(([], 0))
    private let limit: Int
    private let nodes: NodeTable

    init(limit: Int, nodes: NodeTable) {
        self.limit = max(limit, 16)
        self.nodes = nodes
    }

    /// A node's directory was opened; closes the one that was opened longest ago if there are too many.
    func opened(_ node: Node) {
        let victim: NodeID? = queue.withLock { queue in
            guard queue.ids.count == limit else {
                queue.ids.append(node.id)
                return nil
            }
            let victim = queue.ids[queue.next]
            queue.ids[queue.next] = node.id
            queue.next = (queue.next + 1) % limit
            return victim == node.id ? nil : victim
        }
        // Requests that use the directory keep it until they end. One without a name could not be opened again.
        victim.flatMap { nodes[$0] }?.state.withLock { if $0.latestName != nil { $0.directory = nil } }
    }
}
