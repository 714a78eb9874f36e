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
        var sweepAt = 1024
    }

    struct FreshFolders {
        let parent: Descriptor
        var names: Set<Name> = []
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
        _ = state.withLock { state in
            state.freshFolders[parent.identifier, default: FreshFolders(parent: parent.descriptor)].names.insert(name)
        }
    }

    func takeFolders(in parent: DirectoryIdentifier) -> FreshFolders? {
        state.withLock { $0.freshFolders.removeValue(forKey: parent) }
    }

    func takeAllFolders() -> [FreshFolders] {
        state.withLock { state in
            defer { state.freshFolders = [:] }
            return Array(state.freshFolders.values)
        }
    }

    /// Each folder in which some were made is kept open.
    var freshFolderCount: Int { state.withLock { $0.freshFolders.count } }
}
