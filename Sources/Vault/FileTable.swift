import Format
import Posix
import Synchronization

/// The files of a vault that are in memory, and among them those that are to be settled.
///
/// There is at most one `File` for a file: two would write its header in each other's way.
final class FileTable: Sendable {
    private struct State {
        var files: [FileIdentity: WeakFile] = [:]
        var unsettled: [FileIdentity: File] = [:]
        /// Directories that were made and need not be on disk yet, by the folder that they were made in.
        var freshFolders: [DirectoryIdentifier: FreshFolders] = [:]
        /// Tells one directory from a later one of the same name.
        var madeFolders: UInt64 = 0
        var sweepAt = 1024
    }

    struct FreshFolders {
        let parent: Descriptor
        /// Each with its number.
        var names: [Name: UInt64] = [:]
    }

    private struct WeakFile {
        weak var file: File?
    }

    private let state = Mutex(State())

    subscript(identity: FileIdentity) -> File? {
        state.withLock { $0.files[identity]?.file }
    }

    /// Enters a file that was opened, unless there is one already; the one that counts.
    func enter(_ file: File) -> File {
        state.withLock { state in
            if let known = state.files[file.identity]?.file { return known }
            state.files[file.identity] = WeakFile(file: file)
            if state.files.count > state.sweepAt {
                state.files = state.files.filter { $0.value.file != nil }
                state.sweepAt = max(1024, 2 * state.files.count)
            }
            return file
        }
    }

    // MARK: To be settled

    func list(_ file: File) { state.withLock { $0.unsettled[file.identity] = file } }

    func unlist(_ file: File) {
        // Let go of outside the lock: it may be the last reference.
        let gone = state.withLock { $0.unsettled.removeValue(forKey: file.identity) }
        withExtendedLifetime(gone) {}
    }

    /// Lets go of the files that wait to be settled, which keep the vault in memory.
    func forgetUnsettled() {
        let gone = state.withLock { state in
            defer { state.unsettled = [:] }
            return state.unsettled
        }
        withExtendedLifetime(gone) {}
    }

    var unsettled: [File] { state.withLock { Array($0.unsettled.values) } }

    var unsettledCount: Int { state.withLock { $0.unsettled.count } }

    func unsettled(_ identities: [FileIdentity]) -> [File] {
        state.withLock { state in identities.compactMap { state.unsettled[$0] } }
    }

    // MARK: Directories that were just made

    func noteFolder(_ name: Name, in parent: Directory) {
        state.withLock { state in
            state.madeFolders += 1
            state.freshFolders[parent.identifier, default: FreshFolders(parent: parent.descriptor)].names[name] =
                state.madeFolders
        }
    }

    func folders(in parent: DirectoryIdentifier) -> [DirectoryIdentifier: FreshFolders] {
        state.withLock { state in state.freshFolders[parent].map { [parent: $0] } ?? [:] }
    }

    var allFolders: [DirectoryIdentifier: FreshFolders] { state.withLock { $0.freshFolders } }

    /// They are on disk. Not before: whoever syncs their folder meanwhile must not find nothing to do.
    func forget(_ folders: [DirectoryIdentifier: FreshFolders]) {
        state.withLock { state in
            for (parent, flushed) in folders {
                guard var left = state.freshFolders[parent] else { continue }
                left.names = left.names.filter { flushed.names[$0.key] != $0.value }
                state.freshFolders[parent] = left.names.isEmpty ? nil : left
            }
        }
    }

    /// Each folder in which some were made is kept open.
    var freshFolderCount: Int { state.withLock { $0.freshFolders.count } }
}
