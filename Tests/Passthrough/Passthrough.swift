import Fuse
import Glibc
import Posix
import Synchronization

/// A directory, shown through FUSE as it is.
final class Passthrough: FileSystem {
    /// Seconds for which the kernel may use an answer. No other program changes the directory.
    static let timeout = 1.0

    /// What a file system may do without, for tests of what stands on one.
    enum Lack: String {
        /// A name is found in any case.
        case caseSensitivity = "no-case"
        /// Neither hard nor symbolic links.
        case links = "no-links"
        /// A name that exists is never replaced.
        case replacement = "no-replacement"
        /// No extended attributes.
        case attributes = "no-attributes"
        /// No attributes with values of more than 1,000 bytes, as on a file system that has one small block for them.
        case largeAttributes = "small-attributes"
        /// A rename over a symbolic link that was read leaves its target, as that of a cache by names.
        case freshLinks = "stale-links"
        /// An open file cannot be renamed.
        case openRename = "no-open-rename"
        /// No folder is listed.
        case listing = "no-listing"
    }

    let lacks: Set<Lack>
    let nodes: NodeTable
    let files = HandleTable<Descriptor>()
    let directories = HandleTable<OpenDirectory>()
    private let whenReady: @Sendable (Connection) -> Void
    /// How many pages were written back from mappings.
    let pageWrites = Atomic<Int>(0)
    /// How many times the session's end was announced.
    let destructions = Atomic<Int>(0)
    let faults = Faults()
    /// With `freshLinks`: the targets that are shown instead of the links' own.
    let staleTargets = Mutex<[Node.Key: [UInt8]]>([:])
    /// Milliseconds that every open takes.
    let openDelay = Atomic<Int>(0)

    init(
        root: Descriptor, _ lacks: Set<Lack> = [], whenReady: @escaping @Sendable (Connection) -> Void
    ) throws(Errno) {
        self.lacks = lacks
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
        let file = try opened(name, in: parent)
        let status = try file.status()
        return entry(nodes.remember(file, status), status)
    }

    private func opened(_ name: Name, in parent: Descriptor) throws(Errno) -> Descriptor {
        do throws(Errno) { return try parent.open(name, O_PATH) } catch {
            guard error == .ENOENT, lacks.contains(.caseSensitivity) else { throw error }
            let folder = try parent.reopen(O_RDONLY | O_DIRECTORY)
            let wanted = name.description.lowercased()
            guard let other = try folder.entries().first(where: { $0.name.description.lowercased() == wanted }) else {
                throw error
            }
            return try parent.open(other.name, O_PATH)
        }
    }

    func entry(_ node: NodeID, _ status: FileStatus) -> Entry {
        Entry(node: node, status: status, attributeTimeout: Self.timeout, entryTimeout: Self.timeout)
    }

    /// Answers with an entry, and takes its lookup back if the kernel does not want it any more.
    func answer(_ reply: consuming Reply<Entry>, _ call: Faults.Call? = nil, _ find: () throws(Errno) -> Entry) {
        do throws(Errno) {
            let entry = try answering(call, find)
            if !reply.succeed(entry) { nodes.forget(entry.node, count: 1) }
        } catch {
            reply.fail(error)
        }
    }

    private func answering<Result>(_ call: Faults.Call?, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        guard let call else { return try body() }
        return try faults.answering(call, body)
    }

    func answer(_ reply: consuming Reply<Done>, _ call: Faults.Call? = nil, _ act: () throws(Errno) -> Void) {
        do throws(Errno) {
            try answering(call, act)
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
