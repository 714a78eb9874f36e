import Synchronization
import Vault

/// The folder of each entry of the vault, by inode numbers, as a walk through the vault has found them.
///
/// It is made when a file handle names an entry that the kernel has forgotten, and costs about 32 bytes an entry. It
/// may be old: what it says is checked, and a walk is made again if that was wrong. Thread-safe.
final class ParentIndex: Sendable {
    private let walked = Mutex(Walked())

    /// What a walk through the vault has found.
    struct Walked: Sendable {
        /// The folder of each entry.
        var parents: [InodeKey: InodeKey] = [:]
        /// Why a folder could not be read; nil if all were.
        var failure: VaultError?
    }

    /// Why the last walk could not read a folder; nil if it has read all.
    var failure: VaultError? { walked.withLock { $0.failure } }

    /// Replaces all that is known.
    func replace(_ found: Walked) {
        let old = walked.withLock { walked in
            defer { walked = found }
            return walked
        }
        // Outside of the lock: it may be large.
        withExtendedLifetime(old) {}
    }

    /// The inodes on the way from `root` down to an entry, without the root's; nil if that way is not known.
    func way(to entry: InodeKey, from root: InodeKey) -> [InodeKey]? {
        walked.withLock { walked in
            var way: [InodeKey] = []
            var current = entry
            while current != root {
                // A folder that moved during the walk may be seen within itself.
                guard way.count <= walked.parents.count, let parent = walked.parents[current] else { return nil }
                way.append(current)
                current = parent
            }
            return way.reversed()
        }
    }
}
