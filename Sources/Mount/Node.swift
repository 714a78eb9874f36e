import Format
import Fuse
import Posix
import Synchronization
import Vault

/// An inode that the kernel knows: where it lies in the vault, and what is open of it.
final class Node: Sendable {
    let id: NodeID
    let backing: BackingInode
    let identity: Identity
    let state: Mutex<State>
    /// Somebody uses its file. For the table, which must not wait for a node's state: under that files are settled, and the
    /// table is asked.
    let isOpen = Atomic(false)

    /// What an inode is for good; a backing inode number that comes back as something else is another node.
    enum Identity: Hashable, Sendable {
        case file(FileIdentifier)
        case directory(DirectoryIdentifier)
        case other(FileKind?)
    }

    struct State {
        /// The names under which it was found, the latest first. Empty for the root and for what was unlinked.
        var names: [Location] = []
        /// The file while somebody uses it; set by `setFile`.
        var file: OpenFile?
        /// Handles that may have been mapped to be written to.
        var mappers = 0
        /// Opened when it is needed, let go when there are too many.
        var directory: Directory?
        /// The class as it was last seen; of a directory, nothing.
        var protectionClass: ProtectionClass?
        /// The kernel may hold pages of it: it was opened since they were last dropped.
        var mayHavePages = false
        /// Users who keep it open until the kernel forgets it: another has taken its name, and somebody may be on the way.
        var keepers = 0
        /// The header when the file was last closed: another generation on disk means that somebody else wrote the
        /// backing file.
        var header: FileHeader?
        /// A file that was made without a name and has got none so far.
        var isNameless = false
        /// The length of a file as it was last seen.
        var length: UInt64 = 0
        /// Of what has no name any more and is no directory, what stat(2) says unless it is open, and where a symbolic link
        /// leads: whoever has come to it by the name that it had is still on the way.
        var last: (status: FileStatus, target: [UInt8]?)?
        /// What stat(2) says, but for size and times, may not be on disk: an fsync has to see to that. Of a file that the
        /// kernel has just come to know, nobody knows.
        var hasFreshMetadata = true
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
        self.backing = backing
        self.identity = identity
        state = Mutex(State())
    }

    /// Needs the state's lock.
    func setFile(_ file: OpenFile?, in state: inout State) {
        state.file = file
        isOpen.store(file != nil, ordering: .sequentiallyConsistent)
    }

    /// Lets go of the nodes above one after another: of a deep tree there may be more than the stack has room for.
    deinit {
        var above = state.withLock { $0.names.map(\.parent) }
        state.withLock { $0.names = [] }
        while var node = above.popLast() {
            guard isKnownUniquelyReferenced(&node) else { continue }
            node.state.withLock { state in
                above += state.names.map(\.parent)
                state.names = []
            }
        }
    }

    /// What stat(2) says of it, if its file says that.
    func shown(_ status: FileStatus) -> FileStatus {
        guard state.withLock({ $0.isNameless }) else { return status }
        var status = status
        status.linkCount = 0
        return status
    }

    var isDirectory: Bool { if case .directory = identity { true } else { false } }
    var isFile: Bool { if case .file = identity { true } else { false } }

    func add(_ location: Location) {
        state.withLock { state in
            state.last = nil
            if state.names.first == location { return }
            state.names.removeAll { $0 == location }
            state.names.insert(location, at: 0)
        }
    }

    func remove(_ location: Location) {
        state.withLock { $0.names.removeAll { $0 == location } }
    }

    /// `last` is what is to be said of it afterwards, if this was its last name.
    func remove(_ location: Location, leaving last: (status: FileStatus, target: [UInt8]?)) {
        state.withLock { state in
            state.names.removeAll { $0 == location }
            guard !isDirectory, state.names.isEmpty || last.status.linkCount == 0 else { return }
            state.last = last
            if isFile { state.last?.status.size = Int64(state.length) }
        }
    }

    var names: [Location] { state.withLock { $0.names } }
}

/// A name in a directory.
struct Location: Equatable, Sendable {
    let parent: Node
    let name: Name

    static func == (a: Self, b: Self) -> Bool { a.parent === b.parent && a.name == b.name }
}

/// An inode of the backing store.
struct BackingInode: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
    }
}
