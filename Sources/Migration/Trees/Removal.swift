import Posix
import Store
import Vault

/// An original that was taken away, with the names that it had. Its contents are there until `finish`: it can be put
/// back.
struct Removal<Side: Tree> {
    struct Place {
        let name: Name
        let folder: Side.Folder
        /// In the workspace, if it lies there.
        let kept: Name?
    }

    let places: [Place]
    let original: Side.Opened?
    let status: FileStatus
}

/// How a tree takes originals away: a program may have begun to write to one at the last moment.
protocol SourceTree: Tree {
    /// Whether the folder's mode keeps its owner from listing it or from removing a name in it.
    func isClosed(_ folder: Folder) throws(VaultError) -> Bool
    /// Lets the owner list the folder and change names in it.
    func openUp(_ folder: Folder) throws(VaultError)

    /// Takes the names away. Nil if a program wants to write to the file: then they are as they were.
    ///
    /// - Parameter kept: under which names they may be kept in the workspace, one for each.
    func begin(
        removing names: [(name: Name, folder: Folder)], keptAs kept: [Name], _ original: Opened?, _ status: FileStatus
    ) throws(VaultError) -> Removal<Self>?

    /// Removes an original for good. False if a program has written to it meanwhile: then it has its names again.
    func finish(_ removal: Removal<Self>) throws(VaultError) -> Bool
}

extension VaultTree: SourceTree {
    // The vault opens its own folders.
    func isClosed(_ folder: Directory) -> Bool { false }
    func openUp(_ folder: Directory) {}

    // The vault is this process's alone: no program writes to it.
    func begin(
        removing names: [(name: Name, folder: Directory)], keptAs kept: [Name], _ original: File?, _ status: FileStatus
    ) throws(VaultError) -> Removal<VaultTree>? {
        for (name, folder) in names { try remove(name, in: folder) }
        return Removal(places: [], original: nil, status: status)
    }

    func finish(_ removal: Removal<VaultTree>) -> Bool { true }
}

extension PlainTree: SourceTree {
    func isClosed(_ folder: Descriptor) throws(VaultError) -> Bool {
        guard isOwnerRestricted else { return false }
        return try status(of: folder).permissions & 0o700 != 0o700
    }

    func openUp(_ folder: Descriptor) throws(VaultError) {
        let mode = try status(of: folder).permissions
        try backing { () throws(Errno) in try store.setMode(mode | 0o700, of: folder) }
    }

    func begin(
        removing names: [(name: Name, folder: Descriptor)], keptAs kept: [Name], _ original: PlainFile?,
        _ status: FileStatus
    ) throws(VaultError) -> Removal<PlainTree>? {
        guard let original else {
            // Links, FIFOs, sockets and devices have no contents.
            for (name, folder) in names { try remove(name, in: folder) }
            return Removal(places: [], original: nil, status: status)
        }
        guard try isUnchanged(original, status) else { return nil }
        var places: [Removal<PlainTree>.Place] = []
        for ((name, folder), kept) in zip(names, kept) {
            try rename(name, in: folder, to: kept, in: removed)
            places.append(Removal.Place(name: name, folder: folder, kept: kept))
        }
        let removal = Removal<PlainTree>(places: places, original: original, status: status)
        guard try isUnchanged(original, status) else {
            try putBack(removal)
            return nil
        }
        return removal
    }

    /// A program that had looked the name up before it was taken away may have come through only now.
    func finish(_ removal: Removal<PlainTree>) throws(VaultError) -> Bool {
        guard let original = removal.original else { return true }
        guard try isUnchanged(original, removal.status) else {
            try putBack(removal)
            return false
        }
        for place in removal.places {
            guard let kept = place.kept else { continue }
            try remove(kept, in: removed)
        }
        return true
    }

    private func putBack(_ removal: Removal<PlainTree>) throws(VaultError) {
        for place in removal.places {
            guard let kept = place.kept else { continue }
            try rename(kept, in: removed, to: place.name, in: place.folder)
        }
    }

    private func isUnchanged(_ file: PlainFile, _ status: FileStatus) throws(VaultError) -> Bool {
        let now = try self.status(of: file)
        return !file.isLeaseBroken && now.size == status.size && now.modified == status.modified
    }
}
