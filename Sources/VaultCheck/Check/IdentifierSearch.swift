import Format
import Synchronization
import Vault

/// A search for IDs among the files and directories that are at their bound names. Anything of the same ID elsewhere is
/// a copy. Thread-safe.
final class IdentifierSearch: Sendable {
    private let files: Set<FileIdentifier>
    private let directories: Set<DirectoryIdentifier>
    private let found = Mutex(Found())

    private struct Found {
        var files: Set<FileIdentifier> = []
        var directories: Set<DirectoryIdentifier> = []
    }

    init(_ files: Set<FileIdentifier>, _ directories: Set<DirectoryIdentifier>) {
        self.files = files
        self.directories = directories
    }

    func sight(_ file: FileIdentifier) {
        guard files.contains(file) else { return }
        found.withLock { _ = $0.files.insert(file) }
    }

    func sight(_ directory: DirectoryIdentifier) {
        guard directories.contains(directory) else { return }
        found.withLock { _ = $0.directories.insert(directory) }
    }

    var result: (files: Set<FileIdentifier>, directories: Set<DirectoryIdentifier>) {
        found.withLock { ($0.files, $0.directories) }
    }
}
