import Format
import Fuse
import Posix
import Synchronization
import Vault

/// An inode that the kernel knows: where it lies in the vault, and what is open of it.
///
/// There may be millions: it fits into 120 bytes, which is what malloc(3) gives of 128. The order of what is stored
/// matters.
final class Node: Sendable {
    let id: NodeID
    private let inode: UInt64
    let identity: Identity
    /// For those who must not wait for the state: under its lock files are opened and checkpointed, and the table is
    /// asked.
    let flags = Atomic(NodeFlags(rawValue: 0))
    /// Linux's own are of 32 bits.
    private let device: UInt32
    let state: Mutex<State>

    /// What an inode is for good; a backing inode number that comes back as something else is another node.
    enum Identity: Hashable, Sendable {
        case file(FileIdentifier)
        case directory(DirectoryIdentifier)
        case other(FileKind?)
    }

    /// A file that is in use.
    struct OpenFile {
        let file: File
        /// Requests and handles that use it.
        var users: Int
        /// Handles among them.
        var handles: Int
    }

    init(id: NodeID, backing: BackingInode, identity: Identity) {
        self.id = id
        self.identity = identity
        inode = backing.inode
        device = backing.device
        state = Mutex(State())
    }

    var backing: BackingInode { BackingInode(inode: inode, device: device) }

    /// Lets go of the nodes above one after another: of a deep tree there may be more than the stack has room for.
    deinit {
        var above = state.withLock { $0.takeParents() }
        while var node = above.popLast() {
            guard isKnownUniquelyReferenced(&node) else { continue }
            above += node.state.withLock { $0.takeParents() }
        }
    }

    /// What stat(2) says of it, if its file says that.
    func shown(_ status: FileStatus) -> FileStatus {
        guard state.withLock({ $0.isNameless }) else { return status }
        var status = status
        status.linkCount = 0
        return status
    }

    /// Somebody uses its file. Waits for nobody.
    var isOpen: Bool { flags.load(ordering: .sequentiallyConsistent).isOpen }

    var isDirectory: Bool { if case .directory = identity { true } else { false } }
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

    /// `last` is what is to be said of it afterwards, if this was its last name.
    func remove(_ location: Location, leaving last: (status: FileStatus, target: [UInt8]?)) {
        state.withLock { state in
            state.remove(location)
            guard !isDirectory, state.latestName == nil || last.status.linkCount == 0 else { return }
            state.last = last
            if isFile, let length = state.seen?.length { state.last?.status.size = Int64(length) }
        }
    }

    /// The names under which it was found, the latest first. None for the root and for what was unlinked.
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

    fileprivate init(inode: UInt64, device: UInt32) {
        self.inode = inode
        self.device = device
    }
}
