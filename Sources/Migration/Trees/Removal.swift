import Format
import Glibc
import Posix
import Store
import Vault

/// An original that was taken away, with the names that it had. It is there until `finish`, so it can be put back.
struct Removal<Side: Tree> {
    struct Place {
        let name: Name
        let folder: Side.Folder
        /// Its name in the workspace.
        let kept: Name
    }

    let places: [Place]
    let original: Side.Opened?
    /// As it was when all its names were taken away.
    let status: FileStatus
}

/// What came of taking an original away.
enum Beginning<Side: Tree> {
    case taken(Removal<Side>)
    /// A program has changed, replaced, renamed or removed it since it was read: its names are as they were.
    case changed
    /// It cannot be renamed, as one with the flag +i.
    case refused(Errno)
}

/// How a tree takes originals away: a program may have begun to write to one at the last moment.
protocol SourceTree: Tree {
    /// Whether the folder's mode keeps its owner from listing it or from removing a name in it.
    func isClosed(_ folder: Folder) throws(VaultError) -> Bool
    /// Lets the owner list the folder and change names in it.
    func openUp(_ folder: Folder) throws(VaultError)

    /// What is in a folder and no name of the tree: nothing of it can be moved.
    func strangers(in folder: Folder) throws(VaultError) -> [Name]

    /// Whether a file is as it was when it was opened, and no program waits to write to it.
    func isUnchanged(_ file: Opened, since status: FileStatus) throws(VaultError) -> Bool

    /// Takes the names of an inode away.
    ///
    /// - Parameters:
    ///   - kept: under which names it may be kept in the workspace, one for each.
    ///   - original: nil if it is no regular file.
    ///   - status: of the inode, when it was read.
    func begin(
        removing names: [(name: Name, folder: Folder)], keptAs kept: [Name], _ original: Opened?, _ status: FileStatus
    ) throws(VaultError) -> Beginning<Self>

    /// Removes originals for good. Returns for each whether it did: one that a program has changed has its names again.
    ///
    /// - Parameter overwriting: writes zeros over the contents first.
    func finish(_ removals: [Removal<Self>], overwriting: Bool) throws(VaultError) -> [Bool]
}

extension VaultTree: SourceTree {
    func isClosed(_ folder: Directory) throws(VaultError) -> Bool {
        guard geteuid() != 0 else { return false }
        return try status(of: folder).permissions & 0o700 != 0o700
    }

    func openUp(_ folder: Directory) throws(VaultError) {
        try vault.setMode(try status(of: folder).permissions | 0o700, of: folder)
    }

    /// Entries whose names do not decrypt, and files that are no part of the vault.
    func strangers(in folder: Directory) throws(VaultError) -> [Name] {
        try vault.backingEntries(of: folder.descriptor).map(\.name).filter { name in
            switch BackingName(name.bytes) {
            case .reserved, .temporary, .sidecar: false
            case .entry, .longEntry, .foreign:
                vault.plainName(of: name, in: folder) == nil && !name.isOfRemovedFile
                    && !isRemains(name, of: folder)
            }
        }
    }

    /// Whether it is what a crash has left of a folder that was never durable. On the way back the originals of all
    /// in it are still there; else only one with nothing in it counts for nothing.
    func isRemains(_ name: Name, of folder: Directory) -> Bool {
        guard name.bytes.starts(with: Array(BackingName.lostPrefix.utf8)) else { return false }
        if isWayBack { return true }
        guard let inner = try? vault.store.open(name, in: folder.descriptor, O_RDONLY | O_DIRECTORY),
            let entries = try? vault.backingEntries(of: inner)
        else { return false }
        return entries.allSatisfy { entry in
            switch BackingName(entry.name.bytes) {
            case .reserved, .temporary, .sidecar: true
            case .entry, .longEntry, .foreign: false
            }
        }
    }

    // The vault is this process's alone: no program writes to it.
    func isUnchanged(_ file: File, since status: FileStatus) -> Bool { true }

    func begin(
        removing names: [(name: Name, folder: Directory)], keptAs kept: [Name], _ original: File?, _ status: FileStatus
    ) throws(VaultError) -> Beginning<VaultTree> {
        for (name, folder) in names { try remove(name, in: folder) }
        return .taken(Removal(places: [], original: nil, status: status))
    }

    func finish(_ removals: [Removal<VaultTree>], overwriting: Bool) -> [Bool] { removals.map { _ in true } }
}
