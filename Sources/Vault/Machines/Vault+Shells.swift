import Format
import Posix
import Store

// A shell is a folder that holds nothing of the vault but shells: docs/FORMAT.md, "Synchronised vaults".

extension Vault {
    /// Whether an entry is a shell. A synchronisation program has just made the folder, and brings what belongs in it
    /// later; or it has removed all that was in it, and could not remove the folder itself. Sidecars may be left in it:
    /// one machine has put them back, while another one has moved or removed their entries.
    package func isShell(_ name: Name, _ kind: FileKind?, in parent: Descriptor) -> Bool {
        guard isSynchronised, kind == nil || kind == .directory else { return false }
        return isShell(name, in: parent, depth: 0)
    }

    private static let deepestShell = 32

    private func isShell(_ name: Name, in parent: Descriptor, depth: Int) -> Bool {
        guard depth < Self.deepestShell, let folder = try? openFolder(name, in: parent),
            (try? store.status(of: .directoryRecord, in: folder)) == nil,
            let entries = try? backingEntries(of: folder)
        else { return false }
        return entries.allSatisfy { entry in
            switch BackingName(entry.name.bytes) {
            case .temporary, .sidecar: true
            // A version that was put aside is something of the vault.
            case .foreign: ConflictCopy.stems(of: entry.name.bytes).isEmpty
            case .entry, .longEntry:
                (entry.kind == nil || entry.kind == .directory) && isShell(entry.name, in: folder, depth: depth + 1)
            case .reserved: false
            }
        }
    }

    /// Call it before an entry is made: a shell of its name goes. Does nothing in a vault that is not synchronised.
    public func removeShell(_ name: Name, in directory: Directory) {
        guard isSynchronised, !isReadOnly, let stored = try? storedName(name, in: directory) else { return }
        try? removeShell(stored.name, in: directory.descriptor)
    }

    /// Removes a shell with the shells and sidecars in it. One that something is just brought into stays.
    package func removeShell(_ name: Name, in parent: Descriptor, depth: Int = 0) throws(VaultError) {
        do throws(VaultError) {
            // No directory of the vault is empty: each has a record.
            return try backing { () throws(Errno) in try store.removeDirectory(name, in: parent) }
        } catch {
            guard [.system(.ENOTEMPTY), .system(.EEXIST)].contains(error), isShell(name, in: parent, depth: depth)
            else { throw error }
        }
        let folder = try openFolder(name, in: parent)
        var sidecars: [Name] = []
        for entry in try backingEntries(of: folder) {
            switch BackingName(entry.name.bytes) {
            case .entry, .longEntry: try removeShell(entry.name, in: folder, depth: depth + 1)
            case .sidecar: sidecars.append(entry.name)
            case .temporary, .foreign, .reserved: throw .system(.ENOTEMPTY)
            }
        }
        for sidecar in sidecars { try backing { () throws(Errno) in try store.unlink(sidecar, in: folder) } }
        try backing { () throws(Errno) in try store.removeDirectory(name, in: parent) }
    }
}
