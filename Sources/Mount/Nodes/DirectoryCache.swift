import Fuse
import Posix
import Synchronization

/// Bounds how many directories are held open: a tree may have more of them than the process may have descriptors.
final class DirectoryCache: Sendable {
    /// By number: a node that the kernel forgets goes at once, with its descriptor.
    private let queue = Mutex<(ids: [NodeID], next: Int)>(([], 0))
    private let limit: Int
    private let nodes: NodeTable

    init(limit: Int, nodes: NodeTable) {
        self.limit = max(limit, 16)
        self.nodes = nodes
    }

    /// A node's directory was opened; the one that was opened longest ago is let go for it.
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
        // Whoever uses it at the moment keeps it until then. One without a name could not be opened again.
        victim.flatMap { nodes[$0] }?.state.withLock { if $0.latestName != nil { $0.directory = nil } }
    }
}
