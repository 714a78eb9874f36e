import Format
import Fuse
import Posix
import Vault

/// A thread that hears of changes that other programs make in the vault's folder, and makes the kernel ask again for
/// what they may have changed.
///
/// A name is expired, not dropped: a program that has a folder as its working folder keeps it.
final class ForeignChanges: Sendable {
    /// Changes gather for this long, so that a busy mount, whose own changes come too, wakes the thread rarely.
    private static let pause = Duration.milliseconds(250)
    /// After this many events, and after a full queue, which has room for 16,384.
    private static let shortPause = Duration.milliseconds(40)
    private static let many = 4_000
    /// The kernel is told once more after this time: an answer that was under way may have brought the old state.
    private static let repetition = Duration.seconds(1)

    private let fileSystem: VaultFileSystem
    private let watch: FolderWatch
    private let strayed: Wakeup
    private let notifier: Notifier
    private let begun: Wakeup
    private let end: Wakeup
    private let worker = Worker()

    private struct Change: Hashable {
        let folder: BackingInode
        /// Nil for the folder itself.
        let stored: Name?
    }

    private enum Batch {
        case everything
        case some(Set<Change>)
        case strays([WatchedFolders.Stray])
    }

    /// Nil where folders are not watched.
    init?(_ fileSystem: VaultFileSystem, _ notifier: Notifier) throws(Errno) {
        guard let watch = fileSystem.watched.watch, let strayed = fileSystem.watched.strayed else { return nil }
        self.fileSystem = fileSystem
        self.watch = watch
        self.strayed = strayed
        self.notifier = notifier
        (begun, end) = (try Wakeup(), try Wakeup())
    }

    /// - Throws: why the thread cannot be made.
    func start() throws(Errno) {
        try worker.start { [self] in run() }
    }

    /// Requests are served from now on. Before, the kernel could wait for a program that waits for an answer.
    func begin() { begun.signal() }

    /// Ends the thread and waits until it has ended.
    func stop() {
        fileSystem.watched.serve(false)
        end.signal()
        worker.join()
    }

    private func run() {
        guard (try? Poll.readable([end.readable, begun.readable])) == [1] else { return }
        fileSystem.watched.serve(true)
        var repetitions: [(time: Duration, batch: Batch)] = []
        func tellTwice(_ batch: Batch) {
            fileSystem.watched.tell { tell(batch) }
            repetitions.append((BootClock.now + Self.repetition, batch))
        }
        while true {
            let patience = repetitions.first.map { max($0.time - BootClock.now, .zero) }
            let descriptors = [end.readable, watch.readable, strayed.readable]
            // Poll fails for lack of memory.
            guard let ready = try? Poll.readable(descriptors, timeout: patience) else { return loseEverything() }
            if ready.contains(0) { break }
            var pause = Self.pause
            if ready.contains(1) {
                guard let (batch, count) = read() else { return loseEverything() }
                if let batch {
                    tellTwice(batch)
                    if case .everything = batch { pause = Self.shortPause }
                }
                if count > Self.many { pause = Self.shortPause }
            }
            if ready.contains(2) { tellTwice(.strays(fileSystem.watched.takeStrays())) }
            while let first = repetitions.first, first.time <= BootClock.now {
                repetitions.removeFirst()
                fileSystem.watched.tell { tell(first.batch) }
            }
            guard let ended = try? Poll.readable([end.readable], timeout: pause) else { return loseEverything() }
            if !ended.isEmpty { break }
        }
        fileSystem.watched.serve(false)
    }

    /// The watch has failed: from now on, what the kernel is told holds for a second.
    private func loseEverything() {
        fileSystem.watched.serve(false)
        fileSystem.watched.tell { tell(.everything) }
    }

    /// What has changed, nil if nothing has, and the number of events; nil if the watch has failed.
    private func read() -> (Batch?, count: Int)? {
        guard let (events, count) = try? watch.read() else { return nil }
        var changes: Set<Change> = []
        var isLost = false
        for event in events {
            switch event {
            case .lost: isLost = true
            case .changed(let folder, let stored):
                guard let inode = fileSystem.watched.inode(of: folder) else { continue }
                changes.insert(Change(folder: inode, stored: stored))
            case .gone(let folder): fileSystem.watched.remove(folder)
            }
        }
        if isLost { return (.everything, count) }
        return (changes.isEmpty ? nil : .some(changes), count)
    }

    // MARK: Telling the kernel

    private func tell(_ batch: Batch) {
        guard fileSystem.watched.canExpire else { return }
        switch batch {
        case .everything: forget(fileSystem.nodes.all)
        case .some(let changes): tell(changes)
        case .strays(let strays):
            for stray in strays { dropAttributes(of: stray.node) }
            for stray in strays { expire(stray.location) }
        }
    }

    private func tell(_ changes: Set<Change>) {
        var changed: [NodeID: Node] = [:]
        /// Folders that may have changed with all their entries.
        var whole: Set<NodeID> = []
        var names: [Location] = []
        for change in changes {
            guard let folder = fileSystem.nodes[change.folder], folder.isDirectory else { continue }
            changed[folder.id] = folder
            guard let stored = change.stored else { continue }
            switch look(at: stored, in: folder) {
            case .nothing: break
            case .folder: whole.insert(folder.id)
            case .conflictCopy:
                whole.insert(folder.id)
                _ = fileSystem.takeInOrTell(folder)
            case .entry(let name, let status):
                names.append(Location(parent: folder, name: name))
                if let node = status.flatMap({ fileSystem.nodes[BackingInode($0)] }) { changed[node.id] = node }
            }
        }
        // What had a name before, if a program has it open.
        let changedNames = Dictionary(grouping: names, by: { $0.parent.id }).mapValues { Set($0.map(\.name)) }
        for node in fileSystem.nodes.open {
            let isChanged = node.names.contains { changedNames[$0.parent.id]?.contains($0.name) ?? false }
            if isChanged { changed[node.id] = node }
        }
        // Metadata first, for which the kernel waits for no program.
        for node in changed.values { dropAttributes(of: node) }
        for location in names { expire(location) }
        guard !whole.isEmpty else { return }
        forget(
            fileSystem.nodes.all.filter { node in
                whole.contains(node.id) || node.names.contains { whole.contains($0.parent.id) }
            })
    }

    private func look(at stored: Name, in folder: Node) -> ForeignChange {
        do throws(VaultError) {
            return try fileSystem.tree.withShared { () throws(VaultError) in
                fileSystem.vault.foreignChange(of: stored, in: try fileSystem.directory(of: folder))
            }
        } catch { return .folder }
    }

    private func forget(_ nodes: [Node]) {
        for node in nodes { dropAttributes(of: node) }
        for node in nodes {
            for location in node.names { expire(location) }
        }
    }

    /// Without a lock: the kernel may wait for requests in the folder.
    private func expire(_ location: Location) {
        do throws(Errno) { try notifier.expireEntry(location.name, in: location.parent.id) } catch {
            fileSystem.log(.trouble("cannot make the kernel look up a changed name again: \(error)"))
        }
    }

    private func dropAttributes(of node: Node) {
        do throws(Errno) { try notifier.invalidate(node.id, offset: -1) } catch {
            fileSystem.log(.trouble("cannot drop attributes of inode \(node.backing.inode): \(error)"))
        }
    }
}
