import Format
import Posix
import Synchronization
public import Vault

// What is older than what this machine has seen.

extension VaultFileSystem {
    /// Logs files that were found. Called by a thread of its own, which holds no lock.
    func tell(_ found: [StaleFile]) {
        // Of a vault that was restored, each file is older.
        guard vault.freshness?.moment == nil else { return }
        for stale in found {
            let folder = nodes.all.first { $0.identity == .directory(stale.folder) }
            log(.stale(path: path(of: folder, stale.name), stale))
        }
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

    /// The file behind a descriptor of this mount is the right one, whatever this machine has seen.
    func accept(_ status: FileStatus) throws(VaultError) {
        guard
            let node = nodes[BackingInode(inode: status.inode, device: nodes.root.backing.device)]
                ?? nodes.all.first(where: { $0.backing.inode == status.inode && nodes[$0.backing] === $0 })
        else { throw .system(.ENOENT) }
        guard node.isFile else { throw .system(.EINVAL) }
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
    /// The moment as whose copy the whole vault looks, in seconds since 1970.
    public let moment: Int64?
    /// What was in the journal is missed.
    public let hasLostJournal: Bool

    init(_ watch: FreshnessWatch) {
        answer = watch.answer
        stale = watch.count
        moment = watch.moment
        hasLostJournal = watch.journal == .missed
    }
}

/// Who hears of files that are older than what this machine has seen.
final class StaleNotice: Sendable {
    /// In a structure: if a mutex holds a bare closure, each access wraps it once more.
    private struct Hearer {
        let notice: @Sendable () -> Void
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let hearer = Mutex<Hearer?>(nil)

    func set(_ notice: @escaping @Sendable () -> Void) { hearer.withLock { $0 = Hearer(notice: notice) } }

    func tell() { hearer.withLock { $0 }?.notice() }
}
