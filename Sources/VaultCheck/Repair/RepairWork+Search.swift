import Format
import Posix
import Store
import Vault

extension RepairWork {
    /// Finds out which of the files and directories to be moved are copies of others that are at their bound names: two
    /// must not have the same ID.
    func prepare(_ findings: [Finding], threads: Int) throws(VaultError) {
        var files: Set<FileIdentifier> = []
        var directories: Set<DirectoryIdentifier> = []
        for finding in findings {
            guard let spot = finding.spot, let stored = spot.stored, let parent = try? folder(of: spot.treePath) else {
                continue
            }
            switch finding.kind {
            case .header, .binding, .name, .directory:
                collect(stored, in: parent.descriptor, &files, &directories)
            case .unsynced where (try? store.status(of: stored, in: parent.descriptor).kind) == .directory:
                collect(stored, in: parent.descriptor, &files, &directories)
            default: break
            }
        }
        guard !(files.isEmpty && directories.isEmpty), !check.isCancelled else { return }
        let search = IdentifierSearch(files, directories)
        let walk = Check(
            of: vault, contents: false, threads: threads, estimatesProgress: false, search: search
        ) { _ in }
        try walk.run(from: CheckedFolder(root, .root, share: 0))
        takenFiles.formUnion(search.result.files)
        takenDirectories.formUnion(search.result.directories)
    }

    /// Collects the ID of an entry, or those of the entries in a directory whose names are lost.
    private func collect(
        _ stored: Name, in source: Descriptor, _ files: inout Set<FileIdentifier>,
        _ directories: inout Set<DirectoryIdentifier>
    ) {
        switch try? store.status(of: stored, in: source).kind {
        case .regular:
            guard let file = try? openRaw(stored, in: source), let salvaged = try? SalvagedFile(of: file, vault),
                let identifier = salvaged.header?.file ?? salvaged.raw?.file
            else { return }
            files.insert(identifier)
        case .directory:
            guard let folder = try? vault.openFolder(stored, in: source) else { return }
            if let identifier = try? provenIdentifier(of: folder) {
                directories.insert(identifier)
                return
            }
            for entry in (try? vault.backingEntries(of: folder)) ?? [] {
                switch BackingName(entry.name.bytes) {
                case .entry, .longEntry: collect(entry.name, in: folder, &files, &directories)
                case .reserved, .temporary, .sidecar, .foreign: break
                }
            }
        default: break
        }
    }
}
