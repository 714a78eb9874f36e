import Format
import Fuse
import Posix
import Synchronization
import Vault

/// An inode that the kernel knows: its location in the vault, and its open file or directory.
///
/// There may be millions, so a node fits into 120 bytes, the usable part of a malloc(3) block of 128. The order of the
/// stored properties matters.
final class Node: Sendable {
    /// In the node table, and a count if the number is temporary; 0 if it is persistent, and that of the root too.
    let slot: UInt32
    private let made: UInt32
    /// Changed by `NodeTable.renumber` alone.
    private let inode: Atomic<UInt64>
    let identity: Identity
    /// For threads that must not wait for the state: under its lock, files are opened and checkpointed, and the table
    /// is used.
    let flags = Atomic(NodeFlags(rawValue: 0))
    /// 32 bits, as Linux's own device numbers.
    private let device: UInt32
    /// Lock order: docs/ARCHITECTURE.md.
    let state: Mutex<State>

    /// The permanent identity of an inode. If a backing inode number comes back with another identity, that is another
    /// node.
    enum Identity: Hashable, Sendable {
        case file(FileIdentifier)
        case directory(DirectoryIdentifier)
        case other(FileKind?)
    }

    /// A file that is in use.
    struct OpenFile {
        let file: File
        /// Requests and handles that use the file.
        var users: Int
        /// The handles among the users.
        var handles: Int
    }

    /// - Parameter made: other than 0 for a temporary number.
    init(slot: UInt32, made: UInt32, backing: BackingInode, identity: Identity) {
        self.slot = slot
        self.made = made
        self.identity = identity
        inode = Atomic(backing.inode)
        device = backing.device
        state = Mutex(State())
    }

    /// The root of a node table, which has its first slot.
    convenience init(root: BackingInode, identity: Identity) {
        self.init(slot: Self.rootSlot, made: 0, backing: root, identity: identity)
    }

    private static let rootSlot: UInt32 = 1

    var id: NodeID {
        if made != 0 { return NodeID(temporary: made, slot: slot) }
        return slot == Self.rootSlot ? .root : NodeID(persistent: backing.inode, identity)
    }

    var backing: BackingInode { BackingInode(inode: inode.load(ordering: .relaxed), device: device) }

    /// The store has given the inode another number. Needs the node table's lock.
    func renumber(as inode: BackingInode) { self.inode.store(inode.inode, ordering: .relaxed) }

    /// Releases the nodes above in a loop: in a deep tree, recursion would overflow the stack.
    deinit {
        var above = state.withLock { $0.takeParents() }
        while var node = above.popLast() {
            guard isKnownUniquelyReferenced(&node) else { continue }
            above += node.state.withLock { $0.takeParents() }
        }
    }

    /// The status to report, from the status of the file.
    func shown(_ status: FileStatus) -> FileStatus {
        guard state.withLock({ $0.isNameless }) else { return status }
        var status = status
        status.linkCount = 0
        return status
    }

    /// Whether the file is in use. Does not block.
    var isOpen: Bool { flags.load(ordering: .sequentiallyConsistent).isOpen }

    var isDirectory: Bool { if case .directory = identity { true } else { false } }
    /// Whether its identity is that of no other object but a copy of it.
    var hasIdentifier: Bool { if case .other = identity { false } else { true } }
    var fileIdentifier: FileIdentifier? { if case .file(let file) = identity { file } else { nil } }
    var isFile: Bool { if case .file = identity { true } else { false } }

    func add(_ location: Location) {
        state.withLock { state in
            if state.last != nil { state.last = nil }
            state.add(location)
        }
    }

    func remove(_ location: Location) {
        state.withLock { $0.remove(location) }
    }

    /// Removes a name. `last` is the status to report afterwards if it was the last name.
    func remove(_ location: Location, keeping last: (status: FileStatus, target: [UInt8]?)) {
        state.withLock { state in
            state.remove(location)
            guard !isDirectory, state.latestName == nil || last.status.linkCount == 0 else { return }
            state.last = last
            if isFile, let length = state.seen?.length { state.last?.status.size = Int64(length) }
        }
    }

    /// The names by which the node was found, the latest first. Empty for the root and for unlinked nodes.
    var names: [Location] { state.withLock { $0.names } }

    var latestName: Location? { state.withLock { $0.latestName } }
}

/// A name in a directory.
struct Location: Equatable, Sendable {
    let parent: Node
    let name: Name

    static func == (a: Self, b: Self) -> Bool { a.parent === b.parent && a.name == b.name }
}

/// An inode of the backing store.
struct BackingInode: Hashable, Sendable {
    let inode: UInt64
    let device: UInt32

    init(_ status: FileStatus) {
        self.init(inode: status.inode, device: UInt32(truncatingIfNeeded: status.device))
    }

    init(inode: UInt64, device: UInt32) {
        self.inode = inode
        self.device = device
    }
}
