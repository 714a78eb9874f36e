import Format
import Posix
import Sharing

/// The files of a vault that are in memory, and among them the dirty ones, which wait for a checkpoint.
///
/// There is at most one `File` for a backing file: two would overwrite each other's headers.
final class FileTable: Sendable {
    fileprivate struct State {
        var files: [FileIdentity: WeakFile] = [:]
        var dirty: [FileIdentity: File] = [:]
        /// The files in memory, dirty or not, by inode.
        var byInode: [UInt64: FileIdentity] = [:]
        /// Directories that were made and may not be on disk yet, by the folder in which they were made.
        var freshFolders: [DirectoryIdentifier: FreshFolders] = [:]
        var freshFolderCount = 0
        /// A counter that tells a directory from a later one of the same name.
        var madeFolders: UInt64 = 0
        var sweepAt = 1024
    }

    struct FreshFolders {
        let parent: Descriptor
        /// The names of the new directories, each with its number.
        var names: [Name: UInt64] = [:]
    }

    fileprivate struct WeakFile {
        weak var file: File?
    }

    /// Lock order: docs/ARCHITECTURE.md.
    fileprivate let state = ContendedMutex(State())

    subscript(identity: FileIdentity) -> File? {
        state.withLock { $0.files[identity]?.file }
    }

    /// Inserts a file that was opened, unless there is one already; returns the one in the table.
    func insert(_ file: File) -> File {
        let (inserted, inMemory) = state.withLock { state -> (File, [File]) in
            if let known = state.files[file.identity]?.file { return (known, []) }
            state.files[file.identity] = WeakFile(file: file)
            state.byInode[file.identity.inode] = file.identity
            return (file, state.files.count > state.sweepAt ? state.sweep() : [])
        }
        // Released outside the lock: by now each may be the last reference.
        withExtendedLifetime(inMemory) {}
        return inserted
    }

    /// The files in memory whose IDs begin with the 60 bits of a number.
    func files(of object: LeaseObject) -> [File] {
        state.withLock { state in
            state.files.filter { LeaseObject(fingerprint: $0.key.identifier.firstHalf) == object }
                .compactMap(\.value.file)
        }
    }

    /// The files in memory.
    var all: [File] { state.withLock { $0.files.values.compactMap(\.file) } }

    // MARK: Dirty files

    /// Lists a file; returns how many are listed now.
    func list(_ file: File) -> Int {
        state.withLock { state in
            state.dirty[file.identity] = file
            return state.dirty.count
        }
    }

    /// The file of a backing inode, if it is in memory.
    func file(ofInode inode: UInt64) -> File? {
        state.withLock { state in state.byInode[inode].flatMap { state.files[$0]?.file } }
    }

    func unlist(_ file: File) {
        // Released outside the lock: it may be the last reference.
        let gone = state.withLock { $0.dirty.removeValue(forKey: file.identity) }
        withExtendedLifetime(gone) {}
    }

    /// Drops the references to the dirty files, which keep the vault in memory.
    func forgetDirty() {
        let gone = state.withLock { state in
            defer { state.dirty = [:] }
            return state.dirty
        }
        withExtendedLifetime(gone) {}
    }

    var dirty: [File] { state.withLock { Array($0.dirty.values) } }

    var dirtyCount: Int { state.withLock { $0.dirty.count } }

    func dirty(_ identities: [FileIdentity]) -> [File] {
        state.withLock { state in identities.compactMap { state.dirty[$0] } }
    }

    // MARK: Directories that may not be on disk yet

    func noteFolder(_ name: Name, in parent: Directory) {
        state.withLock { state in
            state.madeFolders += 1
            let known = state.freshFolders[parent.identifier, default: FreshFolders(parent: parent.descriptor)].names
                .updateValue(state.madeFolders, forKey: name)
            if known == nil { state.freshFolderCount += 1 }
        }
    }

    /// Forgets a directory that is gone, or that was flushed before it got another name.
    func forgetFolder(_ name: Name, in parent: Directory) {
        state.withLock { $0.forgetFolder(name, in: parent.identifier) }
    }

    func folders(in parent: DirectoryIdentifier) -> [DirectoryIdentifier: FreshFolders] {
        state.withLock { state in state.freshFolders[parent].map { [parent: $0] } ?? [:] }
    }

    var allFolders: [DirectoryIdentifier: FreshFolders] { state.withLock { $0.freshFolders } }

    /// Forgets directories, once they are on disk: until then another sync of their parent must find them here.
    func forget(_ folders: [DirectoryIdentifier: FreshFolders]) {
        state.withLock { state in
            for (parent, flushed) in folders {
                for (name, number) in flushed.names where state.freshFolders[parent]?.names[name] == number {
                    state.forgetFolder(name, in: parent)
                }
            }
        }
    }

    /// How much waits: files; such directories; and the folders that these are in, each of which keeps a descriptor
    /// open.
    var counts: (dirty: Int, freshFolders: Int, parents: Int) {
        state.withLock { ($0.dirty.count, $0.freshFolderCount, $0.freshFolders.count) }
    }
}

extension FileTable.State {
    /// Forgets the files that are gone; returns the others.
    fileprivate mutating func sweep() -> [File] {
        let inMemory = files.compactMapValues(\.file)
        files = files.filter { inMemory[$0.key] != nil }
        byInode = byInode.filter { files[$0.value] != nil }
        sweepAt = max(1024, 2 * files.count)
        return Array(inMemory.values)
    }

    fileprivate mutating func forgetFolder(_ name: Name, in parent: DirectoryIdentifier) {
        guard freshFolders[parent]?.names.removeValue(forKey: name) != nil else { return }
        freshFolderCount -= 1
        if freshFolders[parent]!.names.isEmpty { freshFolders[parent] = nil }
    }
}
