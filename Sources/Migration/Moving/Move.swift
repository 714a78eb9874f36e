import Posix
import Store
import Vault

/// Moves a tree from one side to the other, batch by batch:
///
/// 1. copies are made, with all their metadata, under no name;
/// 2. they are made durable, read back from the disk, and compared;
/// 3. they get their names, and these are made durable;
/// 4. the originals are taken away.
///
/// At every moment each file is whole on one side, under its name. A run that was interrupted is simply repeated, in
/// this direction or in the other.
final class Move<Source: SourceTree, Destination: Tree> {
    typealias Item = Work<Source, Destination>
    typealias Pair = FolderPair<Source, Destination>

    let source: Source
    let destination: Destination
    let survey: Survey
    let folders: FolderRecords
    let removals: RemovalLog
    let digests: DigestLog
    let options: MigrationOptions
    /// The destination is where an interrupted migration has come from.
    let isUndo: Bool
    let progress: MigrationProgress
    let tell: (MigrationEvent) -> Void
    let isStopped: @Sendable () -> Bool

    /// How much one batch may hold.
    var mostBytes: Int64

    var outcome = MigrationOutcome()
    /// Originals that were taken away, and may still be put back.
    var taken: [Item] = []
    /// Inodes with several names that were dealt with.
    var doneGroups: Set<UInt64> = []
    /// The folders of other names of an inode, while a batch is gathered.
    var groupPairs: [TreePath: Pair] = [:]
    /// The folders from the root to the last one that `pair(at:)` has returned.
    private var chain: [Pair] = []

    init(
        _ source: Source, _ destination: Destination, _ survey: Survey, _ workspace: Workspace,
        _ options: MigrationOptions, isUndo: Bool, _ progress: MigrationProgress,
        isStopped: @escaping @Sendable () -> Bool, tell: @escaping (MigrationEvent) -> Void
    ) throws(MigrationError) {
        self.source = source
        self.destination = destination
        self.survey = survey
        self.options = options
        self.isUndo = isUndo
        self.progress = progress
        self.isStopped = isStopped
        self.tell = tell
        mostBytes = options.batchBytes
        do throws(Errno) {
            folders = try FolderRecords(in: workspace.folder, workspace.store)
            removals = try RemovalLog(in: workspace.folder, workspace.store)
            digests = try DigestLog(in: workspace.folder, workspace.store)
        } catch { throw MigrationError(nil, "read the log of the migration", .system(error)) }
    }

    /// - Parameter seen: the folders as they were before they were first listed.
    /// - Throws: `MigrationError`, after the originals of the last batch are settled.
    func run(_ seen: [(path: TreePath, metadata: Metadata)]) throws(MigrationError) -> MigrationOutcome {
        for (path, metadata) in seen { folders.note(path, metadata) }
        // Before the first folder is made: the way back must know each.
        do throws(Errno) { try folders.flush() } catch {
            throw MigrationError(nil, "write the log of the migration", .system(error))
        }
        let start = Timespec.tick
        do throws(MigrationError) {
            let paths = try moveEntries()
            try settleTaken()
            if !outcome.isStopped { try finishFolders(paths) }
            if !outcome.isStopped, !options.removesOriginals { try noteLateChanges(since: start) }
        } catch {
            // Copies that have no name yet go; what was taken away goes for good, or comes back if it was written to.
            try settleTaken()
            throw error
        }
        if !outcome.isStopped, options.removesOriginals {
            try noteStrangers(in: source.root, .root)
            let isEmpty = try wrap(.root, "list") { () throws(VaultError) in
                try source.entries(of: source.root).isEmpty
            }
            outcome.isComplete = isEmpty && outcome.leftCount == 0
        } else {
            outcome.isComplete = !outcome.isStopped && outcome.leftCount == 0
        }
        do throws(Errno) { outcome.manifests = try digests.manifests() } catch {
            throw MigrationError(nil, "read the log of digests", .system(error))
        }
        return outcome
    }

    // MARK: The walk

    /// Moves all entries but folders. Returns the paths of all folders, each before those in it.
    private func moveEntries() throws(MigrationError) -> [TreePath] {
        var seen: [TreePath] = []
        var batch: [Item] = []
        var (names, bytes): (Int, Int64) = (0, 0)
        var stack: [(parent: Pair?, name: Name)] = [(nil, .current)]
        while let (parent, name) = stack.popLast() {
            guard let pair = try open(name, in: parent) else { continue }
            seen.append(pair.path)
            let entries: [DirectoryEntry]
            do throws(VaultError) {
                // In the order of the inodes: about the order on the disk.
                entries = try source.entries(of: pair.source).sorted { $0.inode < $1.inode }
            } catch {
                leave(.unreadable(pair.path.path, error.errno))
                continue
            }
            for entry in entries {
                if isStopped() {
                    outcome.isStopped = true
                    return seen
                }
                let path = pair.path / entry.name
                guard
                    let status = try wrap(
                        path, "look at",
                        { () throws(VaultError) in
                            try source.find(entry.name, in: pair.source)
                        }), let kind = status.kind
                else { continue }
                if kind == .directory {
                    stack.append((pair, entry.name))
                    continue
                }
                guard let item = try item(entry.name, pair, status, kind) else { continue }
                let size = max(status.size, 4096)
                if !batch.isEmpty, names + item.names.count > options.batchFiles || size > mostBytes - bytes {
                    try move(batch)
                    (batch, names, bytes) = ([], 0, 0)
                }
                batch.append(item)
                names += item.names.count
                bytes = size > mostBytes ? mostBytes : bytes + size
            }
        }
        try move(batch)
        return seen
    }

    private func open(_ name: Name, in parent: Pair?) throws(MigrationError) -> Pair? {
        guard let parent else {
            let pair = Pair(source.root, destination.root, .root)
            try openUp(pair)
            return pair
        }
        let path = parent.path / name
        let folder: Source.Folder
        do throws(VaultError) {
            folder = try source.openFolder(name, in: parent.source)
            // One that was made since the survey.
            if folders[path] == nil { folders.note(path, try source.metadata(of: .folder(folder))) }
        } catch {
            if !error.isAbsence { leave(.unreadable(path.path, error.errno)) }
            return nil
        }
        let pair: Pair? = try wrap(path, "open the folder") { () throws(VaultError) in
            try backing { () throws(Errno) in try folders.flush() }
            if let there = try destination.find(name, in: parent.destination), there.kind != .directory {
                try setAside(name, in: parent)
            }
            return Pair(folder, try destination.makeFolder(name, in: parent.destination), path)
        }
        if let pair { try openUp(pair) }
        return pair
    }

    /// The folder's own mode is in the records already.
    private func openUp(_ pair: Pair) throws(MigrationError) {
        guard options.removesOriginals else { return }
        try wrap(pair.path, "open the folder") { () throws(VaultError) in
            guard try source.isClosed(pair.source) else { return }
            try source.openUp(pair.source)
        }
    }

    /// All names of one inode are moved together, or a name in the vault could lose its twin in the folder.
    private func item(
        _ name: Name, _ pair: Pair, _ status: FileStatus, _ kind: FileKind
    ) throws(MigrationError) -> Item? {
        guard status.linkCount > 1, let paths = survey.groups[status.inode], paths.count > 1 else {
            return Item([(name, pair)], kind, status)
        }
        guard doneGroups.insert(status.inode).inserted else { return nil }
        var names = [(name: name, pair: pair)]
        for path in paths where path != pair.path / name {
            guard let other = try groupPair(at: TreePath(names: Array(path.names.dropLast()))) else { continue }
            let last = path.names[path.names.count - 1]
            let found = try wrap(path, "look at") { () throws(VaultError) in try source.find(last, in: other.source) }
            if found?.inode == status.inode { names.append((last, other)) }
        }
        return Item(names, kind, status)
    }

    private func groupPair(at path: TreePath) throws(MigrationError) -> Pair? {
        if let pair = groupPairs[path] { return pair }
        if groupPairs.count >= 256 { groupPairs = [:] }
        let pair = try self.pair(at: path)
        groupPairs[path] = pair
        return pair
    }

    /// The folders at a path, opened or made from the root on; nil if the source has none.
    ///
    /// The folders above it stay open until the next call: of one that is near, only the last parts are opened anew.
    func pair(at path: TreePath) throws(MigrationError) -> Pair? {
        while let last = chain.last, !path.names.starts(with: last.path.names) { chain.removeLast() }
        if chain.isEmpty, let root = try open(.current, in: nil) { chain.append(root) }
        while let last = chain.last, last.path.names.count < path.names.count {
            guard let next = try open(path.names[last.path.names.count], in: last) else { return nil }
            chain.append(next)
        }
        return chain.last
    }

    // MARK: For all stages

    func wrap<Result>(
        _ path: TreePath?, _ doing: String, _ body: () throws(VaultError) -> Result
    ) throws(MigrationError) -> Result {
        do throws(VaultError) { return try body() } catch { throw MigrationError(path, doing, error) }
    }

    /// Tells of what is in a folder and cannot be moved, because it has no name in the tree.
    func noteStrangers(in folder: Source.Folder, _ path: TreePath) throws(MigrationError) {
        let strangers = try wrap(path, "list") { () throws(VaultError) in try source.strangers(in: folder) }
        for name in strangers { leave(.stranger(path.path, name)) }
    }

    func leave(_ event: MigrationEvent) {
        outcome.leftCount += 1
        if outcome.left.count < Survey.mostFindings { outcome.left.append(event) }
        tell(event)
    }
}
