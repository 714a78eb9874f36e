import CrashSimulator
import Crypto
import Foundation
import Posix
import Store
import TestStores
import TestSupport
import Vault

@testable import Migration

/// A folder with a workspace beside it, and a vault in that, all in one store.
final class MigratedFolder {
    static let folderName: Name = "Documents"
    static let workspaceName: Name = ".Documents.latchkey"
    static let vaultName: Name = "vault"

    let place: StateFolder
    let keys: VaultKeys
    var store: any Store
    var events: [MigrationEvent] = []

    var path: String { place.path + "/Documents" }

    /// Makes the folder with `make`, a script of the shell, and the vault.
    init(_ make: String) throws {
        place = try StateFolder()
        let path = place.path + "/Documents"
        store = try DirectoryStore(path: Path(place.path))
        try run("mkdir", [path]).succeeded()
        try run("bash", ["-euc", "umask 022; cd \"$1\"; \(make)", "-", path]).succeeded()
        let workspace = try Workspace(Self.workspaceName, in: store.root, store)
        try store.makeDirectory(Self.vaultName, in: workspace.folder, mode: 0o700)
        keys = try VaultKeys(in: place, at: ".Documents.latchkey/vault")
    }

    /// The same folder in the state of another place.
    init(_ other: MigratedFolder, in place: StateFolder) throws {
        self.place = place
        store = try DirectoryStore(path: Path(place.path))
        keys = other.keys
    }

    func vault() throws -> Vault {
        let workspace = try store.open(Self.workspaceName, in: store.root, O_RDONLY | O_DIRECTORY)
        let folder = try store.open(Self.vaultName, in: workspace, O_RDONLY | O_DIRECTORY)
        return keys.vault(over: UnallocatingStore(store, root: folder))
    }

    func plainTree() throws -> PlainTree {
        let folder = try store.open(Self.folderName, in: store.root, O_RDONLY | O_DIRECTORY)
        let workspace = try Workspace(Self.workspaceName, in: store.root, store)
        return PlainTree(
            store, root: folder, staging: workspace.staging, removed: workspace.removed, wiped: workspace.wiped)
    }

    func begin(
        _ direction: Migration.Direction, isUndo: Bool = false, _ options: MigrationOptions = MigrationOptions(),
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) throws -> Migration {
        let folder = try store.open(Self.folderName, in: store.root, O_RDONLY | O_DIRECTORY)
        return try Migration(
            direction, of: folder, try Workspace(Self.workspaceName, in: store.root, store), try vault(),
            isUndo: isUndo, options,
            isStopped: isStopped
        ) { [unowned self] in events.append($0) }
    }

    @discardableResult
    func migrate(
        _ direction: Migration.Direction, isUndo: Bool = false, _ options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationOutcome {
        let migration = try begin(direction, isUndo: isUndo, options)
        defer { try? migration.end() }
        return try migration.run()
    }

    func snapshotOfVault() throws -> Snapshot {
        let tree = try VaultTree(try vault())
        defer { try? tree.vault.close() }
        return try Snapshot(of: tree)
    }

    func snapshotOfFolder() throws -> Snapshot {
        try waitUntilClosed()
        return try Snapshot(of: try plainTree())
    }

    /// Waits until no process has a plain file open for writing: what was closed here may still be open in a process
    /// that another test has just started. It closes its copies of this process's descriptors on execve(2), which may
    /// be later than posix_spawn(3) returns.
    func waitUntilClosed() throws {
        let tree = try plainTree()
        let end = ContinuousClock.now + .seconds(20)
        var folders = [tree.root, tree.removed]
        while let folder = folders.popLast() {
            for name in try tree.entries(of: folder).map(\.name) {
                switch try tree.status(of: name, in: folder).kind {
                case .directory: folders.append(try tree.openFolder(name, in: folder))
                case .regular:
                    while true {
                        do throws(VaultError) {
                            _ = try tree.open(name, in: folder)
                            break
                        } catch { guard error == .system(.ETXTBSY), ContinuousClock.now < end else { throw error } }
                        usleep(1_000)
                    }
                default: break
                }
            }
        }
    }
}
