import Format
import Freshness
public import Posix
import Synchronization
public import Vault

// What is older than what this machine has seen.

extension VaultFileSystem {
    /// Logs files that were found. Called by a thread of its own, which holds no lock.
    ///
    /// - Parameter more: how many others were found.
    func tell(_ found: [StaleObject], more: Int) {
        for stale in found {
            let path: Printable
            switch stale.place {
            case .entry(let name, _, let folder):
                path = self.path(of: nodes.all.first { $0.identity == .directory(folder) }, name)
            case .inode(let inode):
                path = self.path(of: nodes.all.first { $0.backing.inode == inode && nodes[$0.backing] === $0 })
            }
            staleNotice.add(path, stale.key)
            log(.stale(path: path, stale))
        }
        if more > 0 { log(.trouble("\(more) other files are older than what this machine has seen")) }
        staleNotice.tell()
    }

    /// Logs what was found at the beginning.
    func tellOfVault() {
        guard let freshness = vault.freshness else { return }
        if let moment = freshness.moment {
            log(.staleVault(since: moment))
        } else if freshness.journal == .missed {
            log(.staleVault(since: nil))
        }
    }

    /// What is in the vault now is as it should be.
    func acceptAll() throws(VaultError) {
        try vault.acceptAll()
        for node in nodes.all { node.state.withLock { $0.directory }?.didAccept() }
    }

    /// What is behind a descriptor of this mount is the right one, whatever this machine has seen.
    func accept(_ status: FileStatus) throws(VaultError) {
        guard
            let node = nodes[BackingInode(inode: status.inode, device: nodes.root.backing.device)]
                ?? nodes.all.first(where: { $0.backing.inode == status.inode && nodes[$0.backing] === $0 })
        else { throw .system(.ENOENT) }
        if node.isDirectory {
            // Exclusively: another request may set the class, and each writes a record of the next generation.
            return try tree.withExclusive { () throws(VaultError) in
                let directory = try directory(of: node)
                try vault.accept(directory)
                node.state.withLock { $0.directory = directory }
            }
        }
        try tree.withShared { () throws(VaultError) in
            for location in node.names { try vault.accept(location.name, in: try directory(of: location.parent)) }
        }
    }
}

/// What this machine remembers of the vault's files, and what it has found.
public struct FreshnessSummary: Sendable {
    public let answer: FreshnessWatch.Answer
    /// How many files are older than what this machine has seen.
    public let stale: Int
    /// When the first of them was found, after there were none; nil if there are none.
    public let found: Timespec?
    /// The moment as whose copy the whole vault looks, in seconds since 1970.
    public let moment: Int64?
    /// What was in the journal is missed.
    public let hasLostJournal: Bool
    /// The paths of the first of those files, from the mount's root.
    public let paths: [Printable]

    init(_ watch: FreshnessWatch, _ paths: [Printable]) {
        self.paths = paths
        answer = watch.answer
        stale = watch.count
        found = watch.found
        moment = watch.moment
        hasLostJournal = watch.journal == .missed
    }
}

/// The files that were found to be older than what this machine has seen, and who hears of it. Thread-safe.
final class StaleNotice: Sendable {
    private static let mostPaths = 20

    private struct State {
        var notice: (@Sendable () -> Void)?
        var files: [(key: MarkKey, path: Printable)] = []
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

    func set(_ notice: @escaping @Sendable () -> Void) { state.withLock { $0.notice = notice } }

    func tell() { state.withLock { $0.notice }?() }

    func add(_ path: Printable, _ key: MarkKey) {
        state.withLock { if $0.files.count < Self.mostPaths { $0.files.append((key, path)) } }
    }

    func forget() { state.withLock { $0.files = [] } }

    /// Those that still count.
    func paths(of watch: FreshnessWatch) -> [Printable] {
        state.withLock { $0.files }.filter { watch.counts($0.key) }.map(\.path)
    }
}
