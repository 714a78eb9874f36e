import Format
import Synchronization
import Vault

/// Files and directories that stand where they belong, looked for by their IDs: what was found elsewhere and has one of
/// these is a copy.
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
