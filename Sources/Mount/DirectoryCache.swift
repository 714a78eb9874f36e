import Posix
import Synchronization

/// Bounds how many directories are held open: a tree may have more of them than the process may have descriptors.
final class DirectoryCache: Sendable {
    private let queue = Mutex<(nodes: [Node], next: Int)>(([], 0))
    private let limit: Int

    init(limit: Int) { self.limit = max(limit, 16) }

    /// A node's directory was opened; the one that was opened longest ago is let go for it.
    func opened(_ node: Node) {
        let victim: Node? = queue.withLock { queue in
            guard queue.nodes.count == limit else {
                queue.nodes.append(node)
                return nil
            }
            let victim = queue.nodes[queue.next]
            queue.nodes[queue.next] = node
            queue.next = (queue.next + 1) % limit
            return victim === node ? nil : victim
        }
        // Whoever uses it at the moment keeps it until then. One without a name could not be opened again.
        victim?.state.withLock { if !$0.names.isEmpty { $0.directory = nil } }
    }
}
