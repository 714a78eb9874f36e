import Format
import Posix
import Store

// A shell is a folder that holds nothing of the vault, not even a record: docs/FORMAT.md, "Synchronised vaults".

extension Vault {
    /// Whether an entry is a shell. A synchronisation program has just made the folder, and brings what belongs in it
    /// later; or it has removed all that was in it, and could not remove the folder itself.
    package func isShell(_ name: Name, _ kind: FileKind?, in parent: Descriptor) -> Bool {
        guard isSynchronised, kind == nil || kind == .directory,
            let folder = try? openFolder(name, in: parent),
            (try? store.status(of: .directoryRecord, in: folder)) == nil,
            let entries = try? backingEntries(of: folder)
        else { return false }
        return entries.allSatisfy { entry in
            switch BackingName(entry.name.bytes) {
            case .temporary, .foreign: true
            case .reserved, .entry, .longEntry, .sidecar: false
            }
        }
    }

    /// Call it before an entry is made: a shell of its name goes. Does nothing in a vault that is not synchronised.
    public func removeShell(_ name: Name, in directory: Directory) {
        guard isSynchronised, !isReadOnly, let stored = try? storedName(name, in: directory) else { return }
        // No directory of the vault is empty: each has a record.
        try? backing { () throws(Errno) in try store.removeDirectory(stored.name, in: directory.descriptor) }
    }
}
