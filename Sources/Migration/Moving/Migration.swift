public import Posix
import Store
public import Vault

/// How a migration runs.
public struct MigrationOptions: Sendable {
    /// Whether the originals are removed. If not, twice the space is needed.
    public var removesOriginals = true
    /// How many bytes of files are copied before they are made durable: so much more space is needed.
    public var batchBytes: Int64 = 128 << 20
    /// How many files are copied before they are made durable. Each takes two descriptors.
    public var batchFiles = 512
    public var threads = 4
    /// Whether originals are overwritten before they are removed, where no program has them open.
    public var overwrites = false

    public init() {}
}

/// Moves a folder of plain files into a vault, or back: file by file, so that it needs hardly more space than before.
///
/// For one thread; `progress` is for any. A vault that is opened here must be open nowhere else.
public final class Migration {
    public enum Direction: String, Sendable {
        case protect, unprotect
    }

    public let direction: Direction
    public let progress = MigrationProgress()
    private let workspace: Workspace
    private let plain: PlainTree
    private let vault: VaultTree
    private let options: MigrationOptions
    private let isUndo: Bool
    private let isStopped: @Sendable () -> Bool
    private let tell: (MigrationEvent) -> Void
    private var known: Survey?
    /// The folders as the survey has found them.
    private var seen: [(path: TreePath, metadata: Metadata)] = []

    /// Begins the vault's session, and settles what an interrupted run has left in the workspace.
    ///
    /// - Parameters:
    ///   - folder: the folder under migration, in the workspace's store.
    ///   - vault: with the keys of all classes. `end` closes it.
    ///   - isUndo: the way back from an interrupted migration in the other direction.
    public init(
        _ direction: Direction, of folder: Descriptor, _ workspace: Workspace, _ vault: Vault,
        isUndo: Bool = false, _ options: MigrationOptions = MigrationOptions(),
        isStopped: @escaping @Sendable () -> Bool = { false },
        tell: @escaping (MigrationEvent) -> Void
    ) throws(MigrationError) {
        self.direction = direction
        self.workspace = workspace
        self.options = options
        self.isUndo = isUndo
        self.isStopped = isStopped
        self.tell = tell
        plain = PlainTree(
            workspace.store, root: folder, staging: workspace.staging, removed: workspace.removed,
            wiped: workspace.wiped)
        do throws(VaultError) { self.vault = try VaultTree(vault, isWayBack: isUndo) } catch {
            throw MigrationError(nil, "open the vault", error)
        }
        do throws(VaultError) { try settleWorkspace() } catch {
            vault.abandon()
            throw MigrationError(nil, "look through what an interrupted run has left", error)
        }
    }

    /// Reads all of the source, once for each run.
    public func survey() throws(MigrationError) -> Survey {
        if let known { return known }
        do throws(VaultError) {
            var seen: [(path: TreePath, metadata: Metadata)] = []
            let survey =
                switch direction {
                case .protect: try Survey(of: plain, isStopped: isStopped) { seen.append(($0, $1)) }
                case .unprotect: try Survey(of: vault, isStopped: isStopped) { seen.append(($0, $1)) }
                }
            (known, self.seen) = (survey, seen)
            return survey
        } catch { throw MigrationError(nil, "read the folder", error) }
    }

    /// Moves everything. It may be called again for what was left.
    public func run() throws(MigrationError) -> MigrationOutcome {
        let survey: Survey
        if let known { survey = known } else { survey = try self.survey() }
        // The root is on both sides from the beginning. On the way back it has what it had, unless that is recorded.
        let seen = isUndo ? seen.filter { $0.path != .root } : seen
        (known, self.seen) = (nil, [])
        switch direction {
        case .protect:
            return try Move(
                plain, vault, survey, workspace, options, isUndo: isUndo, progress, isStopped: isStopped, tell: tell
            ).run(seen)
        case .unprotect:
            return try Move(
                vault, plain, survey, workspace, options, isUndo: isUndo, progress, isStopped: isStopped, tell: tell
            ).run(seen)
        }
    }

    /// Ends the vault's session.
    public func end() throws(MigrationError) {
        do throws(VaultError) { try vault.vault.close() } catch {
            throw MigrationError(nil, "close the vault", error)
        }
    }

    // MARK: After an interruption

    /// Copies without a name go. Originals that were on their way out have a durable copy in the vault: they go too,
    /// unless a program has written to one since.
    private func settleWorkspace() throws(VaultError) {
        let store = workspace.store
        try backing { () throws(Errno) in
            for folder in [workspace.staging, workspace.wiped] {
                for entry in try store.entries(of: folder) { try store.unlink(entry.name, in: folder) }
            }
        }
        let removals: RemovalLog
        do throws(Errno) { removals = try RemovalLog(in: workspace.folder, store) } catch { throw .system(error) }
        for entry in try plain.entries(of: workspace.removed) {
            if let path = removals.earlier[entry.name], try isCopied(entry.name, path) {
                try plain.remove(entry.name, in: workspace.removed)
            } else {
                try putBack(entry.name, removals.earlier[entry.name])
            }
        }
    }

    private func isCopied(_ kept: Name, _ path: TreePath) throws(VaultError) -> Bool {
        guard let name = path.names.last, try plain.status(of: kept, in: workspace.removed).kind == .regular else {
            return try isCopiedNode(kept, path)
        }
        do throws(VaultError) {
            var folder = vault.root
            for name in path.names.dropLast() { folder = try vault.openFolder(name, in: folder) }
            let (original, copy) = (try plain.open(kept, in: workspace.removed), try vault.open(name, in: folder))
            let metadata = try plain.metadata(of: .file(original))
            var metadataOfCopy = try vault.metadata(of: .file(copy))
            // A program that only read the original has changed nothing.
            metadataOfCopy.accessed = metadata.accessed
            guard metadata.difference(from: metadataOfCopy) == nil else { return false }
            return try Comparison(plain, vault).areEqual(original, copy)
        } catch {
            // The copy is gone or damaged, or a program writes to the original: that is the one that counts.
            return false
        }
    }

    private func isCopiedNode(_ kept: Name, _ path: TreePath) throws(VaultError) -> Bool {
        guard let name = path.names.last else { return false }
        let status = try plain.status(of: kept, in: workspace.removed)
        do throws(VaultError) {
            var folder = vault.root
            for name in path.names.dropLast() { folder = try vault.openFolder(name, in: folder) }
            guard let copy = try vault.find(name, in: folder), copy.kind == status.kind else { return false }
            guard status.kind == .symbolicLink else { return copy.specialDevice == status.specialDevice }
            return try vault.target(of: name, in: folder) == plain.target(of: kept, in: workspace.removed)
        } catch { return false }
    }

    private func putBack(_ kept: Name, _ path: TreePath?) throws(VaultError) {
        var (folder, parent) = (plain.root, TreePath.root)
        var name = Name(stringLiteral: "recovered-\(kept)")
        do throws(VaultError) {
            if let path, let last = path.names.last {
                for name in path.names.dropLast() { folder = try plain.makeFolder(name, in: folder) }
                (name, parent) = (last, TreePath(names: Array(path.names.dropLast())))
            }
        } catch {
            // A program has made something else of the folder.
            (folder, parent) = (plain.root, .root)
        }
        let placed = try plain.putBack(kept, from: workspace.removed, as: name, in: folder)
        tell(.putBack((parent / placed).path))
    }
}
