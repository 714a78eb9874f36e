import Posix
import Synchronization

/// Tombstones that cannot be removed yet: the store keeps a removed file that is open under a name of its own in them.
///
/// Each keeps its parent folder open, so there are few. One that is left out is an orphan. Thread-safe.
final class LeftTombstones: Sendable {
    private struct Tombstone {
        let name: Name
        let parent: Directory
    }

    private static let most = 64

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let left = Mutex<[Tombstone]>([])

    var isEmpty: Bool { left.withLock { $0.isEmpty } }

    func add(_ name: Name, in parent: Directory) {
        left.withLock { left in
            if left.count < Self.most { left.append(Tombstone(name: name, parent: parent)) }
        }
    }

    /// Tries each once more, and keeps those that `remove` has not removed.
    func retry(_ remove: (Name, Directory) -> Bool) {
        let tried = left.withLock { left in
            defer { left = [] }
            return left
        }
        for tombstone in tried where !remove(tombstone.name, tombstone.parent) {
            add(tombstone.name, in: tombstone.parent)
        }
    }
}

extension Name {
    /// Whether a store gives such a name to a removed file for as long as it is open: a file system in user space, or
    /// NFS.
    package var isOfRemovedFile: Bool {
        for prefix in [".fuse_hidden", ".nfs"] where bytes.starts(with: prefix.utf8) {
            let rest = bytes.dropFirst(prefix.utf8.count)
            let (digits, letters) = (UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"))
            return rest.count >= 8 && rest.allSatisfy { digits ~= $0 || letters ~= $0 }
        }
        return false
    }
}
