import Fuse
import Posix
import Synchronization

/// A directory, shown through FUSE as it is.
final class Passthrough: FileSystem {
    /// Seconds for which the kernel may use an answer. No other program changes the directory.
    static let timeout = 1.0

    let nodes: NodeTable
    let files = HandleTable<Descriptor>()
    let directories = HandleTable<OpenDirectory>()
    private let whenReady: @Sendable (Connection) -> Void
    /// How many pages were written back from mappings.
    let pageWrites = Atomic<Int>(0)
    /// How many times the session's end was announced.
    let destructions = Atomic<Int>(0)
    /// Milliseconds that every open takes.
    let openDelay = Atomic<Int>(0)

    init(root: Descriptor, whenReady: @escaping @Sendable (Connection) -> Void) throws(Errno) {
        nodes = try NodeTable(root: root)
        self.whenReady = whenReady
    }

    func initialized(_ connection: Connection) {
        whenReady(connection)
    }

    func destroyed() {
        destructions.add(1, ordering: .relaxed)
        nodes.removeAll()
        files.removeAll()
        directories.removeAll()
    }

    func forget(_ node: NodeID, count: UInt64) {
        nodes.forget(node, count: count)
    }

    func file(_ node: NodeID) throws(Errno) -> Descriptor {
        try nodes[node].file
    }

    /// Finds a name; the entry counts as a lookup.
    func entry(_ name: Name, in parent: Descriptor) throws(Errno) -> Entry {
        let file = try parent.open(name, O_PATH)
        let status = try file.status()
        return entry(nodes.remember(file, status), status)
    }

    func entry(_ node: NodeID, _ status: FileStatus) -> Entry {
        Entry(node: node, status: status, attributeTimeout: Self.timeout, entryTimeout: Self.timeout)
    }

    /// Answers with an entry, and takes its lookup back if the kernel does not want it any more.
    func answer(_ reply: consuming Reply<Entry>, _ find: () throws(Errno) -> Entry) {
        do throws(Errno) {
            let entry = try find()
            if !reply.succeed(entry) { nodes.forget(entry.node, count: 1) }
        } catch {
            reply.fail(error)
        }
    }

    func answer(_ reply: consuming Reply<Done>, _ act: () throws(Errno) -> Void) {
        do throws(Errno) {
            try act()
            reply.succeed()
        } catch {
            reply.fail(error)
        }
    }

    func statfs(_ request: Request, _ node: NodeID, reply: consuming Reply<FileSystemStatistics>) {
        do throws(Errno) {
            reply.succeed(try file(node).fileSystemStatistics())
        } catch {
            reply.fail(error)
        }
    }
}
