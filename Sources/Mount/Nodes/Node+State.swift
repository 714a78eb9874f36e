import Format
import Posix
import Vault

extension Node {
    /// What changes of a node. What only few have at a time lies apart.
    ///
    /// The file, the class and `mayHavePages` are changed within `NodeTable.update`: a glance shows them.
    struct State {
        private var parent: Node?
        private var name = PackedName(.current)
        private var more: More?
        /// The file when it was last closed, or else as it was last found.
        var seen: ClosedFile?
        private var wasClosed = false
        /// The class as it was last seen; of a directory, nothing.
        var protectionClass: ProtectionClass?
        /// The kernel may hold pages of it: it was opened since they were last dropped.
        var mayHavePages = false
        /// What stat(2) says, but for size and times, may not be on disk: an fsync has to see to that. Of a file that
        /// the kernel has just come to know, nobody knows.
        var hasFreshMetadata = true
    }

    /// What a file's header said when the file was closed: another generation on disk means that somebody else wrote
    /// the backing file.
    struct ClosedFile {
        let generation: UInt64
        let length: UInt64
        let protectionClass: ProtectionClass
        let isExplicit: Bool
        /// No header says so but a summary: whoever reads the header may find another length.
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

    /// The file while somebody uses it; changed within `NodeTable.update`.
    var file: Node.OpenFile? {
        get { more?.file }
        set { change { $0.file = newValue } }
    }

    /// Handles that may have been mapped to be written to.
    var mappers: Int {
        get { more?.mappers ?? 0 }
        set { change { $0.mappers = newValue } }
    }

    /// Opened when it is needed, let go when there are too many.
    var directory: Directory? {
        get { more?.directory }
        set { change { $0.directory = newValue } }
    }

    /// A file that was made without a name and has got none so far.
    var isNameless: Bool {
        get { more?.isNameless ?? false }
        set { change { $0.isNameless = newValue } }
    }

    /// Of what has no name any more and is no directory, what stat(2) says unless it is open, and where a symbolic link
    /// leads: whoever has come to it by the name that it had is still on the way.
    var last: (status: FileStatus, target: [UInt8]?)? {
        get { more?.last }
        set { change { $0.last = newValue } }
    }

    /// Users who keep it open until the kernel forgets it: another has taken its name, and somebody may be on the way.
    var keepers: Int {
        get { more?.keepers ?? 0 }
        set { change { $0.keepers = newValue } }
    }

    /// The file when it was last closed; nil if it never was.
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

    /// Leaves it without names.
    mutating func takeParents() -> [Node] {
        defer {
            parent = nil
            if more != nil { change { $0.olderNames = [] } }
        }
        return names.map(\.parent)
    }
}
