import Format
import Posix
import Vault

extension Node {
    /// The mutable part of a node. Fields that few nodes use at a time are in `More`.
    ///
    /// `file`, `protectionClass` and `mayHavePages` change only within `NodeTable.update`, which copies them into
    /// `NodeFlags`.
    struct State {
        private var parent: Node?
        private var name = PackedName(.current)
        private var more: More?
        /// The file as of its last close, or else as of the last lookup.
        var seen: ClosedFile?
        private var wasClosed = false
        /// The class as last seen; nil for a directory.
        var protectionClass: ProtectionClass?
        /// The kernel may hold pages of the file: it was opened since they were last dropped.
        var mayHavePages = false
        /// Metadata other than size and times may not be durable, so that an fsync has to make it so. True for a file
        /// that the kernel has just looked up, because its state is unknown.
        var hasFreshMetadata = true
        /// For a directory: foreign changes in it are noticed.
        var isWatched = false
    }

    /// What a file's header said when the file was closed. If the generation on disk differs, another program has
    /// written the backing file.
    struct ClosedFile {
        let generation: UInt64
        let length: UInt64
        let protectionClass: ProtectionClass
        let isExplicit: Bool
        /// From a summary, not from a header, which may say another length.
        let isSummary: Bool

        init(_ summary: FileSummary, length: UInt64) {
            generation = summary.generation
            self.length = length
            protectionClass = summary.protectionClass
            isExplicit = summary.isExplicit
            isSummary = true
        }

        init(_ header: FileHeader) {
            generation = header.generation
            length = header.provisionalLength
            protectionClass = header.protectionClass
            isExplicit = header.protection.isExplicit
            isSummary = false
        }
    }

    fileprivate final class More: @unchecked Sendable {  // unchecked: its one owner, a state, has a lock
        var file: OpenFile?
        var mappers = 0
        var directory: Directory?
        var isNameless = false
        var last: (status: FileStatus, target: [UInt8]?)?
        var keepers = 0
        var olderNames: [Location] = []

        var isNeeded: Bool {
            file != nil || mappers != 0 || directory != nil || isNameless || last != nil || keepers != 0
                || !olderNames.isEmpty
        }
    }
}

extension Node.State {
    private mutating func change(_ body: (Node.More) -> Void) {
        let more = more ?? Node.More()
        body(more)
        self.more = more.isNeeded ? more : nil
    }

    /// The file while it is in use; changed within `NodeTable.update`.
    var file: Node.OpenFile? {
        get { more?.file }
        set { change { $0.file = newValue } }
    }

    /// The number of handles through which a writable mapping may exist.
    var mappers: Int {
        get { more?.mappers ?? 0 }
        set { change { $0.mappers = newValue } }
    }

    /// Opened on demand; the directory cache closes it when too many are open.
    var directory: Directory? {
        get { more?.directory }
        set { change { $0.directory = newValue } }
    }

    /// A file that was created without a name and has none so far.
    var isNameless: Bool {
        get { more?.isNameless ?? false }
        set { change { $0.isNameless = newValue } }
    }

    /// For an object without a name that is no directory: its status, used unless it is open, and the target of a
    /// symbolic link. A request that looked it up by its former name may still be under way.
    var last: (status: FileStatus, target: [UInt8]?)? {
        get { more?.last }
        set { change { $0.last = newValue } }
    }

    /// Uses that keep the file open until the kernel forgets it: another file has taken its name, and a request may be
    /// under way.
    var keepers: Int {
        get { more?.keepers ?? 0 }
        set { change { $0.keepers = newValue } }
    }

    /// The file as of its last close; nil if it was never closed.
    var closed: Node.ClosedFile? {
        get { wasClosed ? seen : nil }
        set { (seen, wasClosed) = (newValue, newValue != nil) }
    }

    // MARK: Names

    var latestName: Location? { parent.map { Location(parent: $0, name: name.unpacked) } }

    var names: [Location] { (latestName.map { [$0] } ?? []) + (more?.olderNames ?? []) }

    mutating func add(_ location: Location) {
        let packed = PackedName(location.name)
        if parent === location.parent, name == packed { return }
        if parent != nil {
            let older = names.filter { $0 != location }
            change { $0.olderNames = older }
        }
        parent = location.parent
        name = packed
    }

    mutating func remove(_ location: Location) {
        guard parent != nil else { return }
        var left = names
        left.removeAll { $0 == location }
        parent = left.first?.parent
        if let first = left.first { name = PackedName(first.name) }
        if more != nil { change { $0.olderNames = Array(left.dropFirst()) } }
    }

    /// Removes all names, and returns their parents.
    mutating func takeParents() -> [Node] {
        defer {
            parent = nil
            if more != nil { change { $0.olderNames = [] } }
        }
        return names.map(\.parent)
    }
}
