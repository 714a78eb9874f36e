import Posix
import Store
import Synchronization

/// Sidecars of long names and of attributes, and long targets of symbolic links, whose entries have been removed. They
/// are removed once the entry's absence is durable: an entry without its sidecar is lost.
///
/// Thread-safe.
final class StaleSidecars: Sendable {
    struct Sidecar {
        /// The folder of the sidecar.
        let folder: Descriptor
        let name: Name
        /// The folder of the entry.
        let directory: Descriptor
        /// The entry to which the sidecar belongs. Nil for a long target and for attributes: those belong to one entry,
        /// which does not come back.
        let entry: Name?
    }

    /// Lock order: docs/ARCHITECTURE.md.
    private let stale = Mutex<[Sidecar]>([])

    var isEmpty: Bool { stale.withLock { $0.isEmpty } }
    var count: Int { stale.withLock { $0.count } }

    func add(_ sidecar: Sidecar) { stale.withLock { $0.append(sidecar) } }

    /// Keeps a sidecar, because its entry is made again. Names of sidecars do not repeat: each is a hash that depends
    /// on the directory.
    func keep(_ name: Name) { stale.withLock { $0.removeAll { $0.name == name } } }

    var all: [Sidecar] { stale.withLock { $0 } }

    /// Removes a sidecar unless it is to be kept. All of it happens under the lock, so that `keep` comes before or
    /// after it as a whole.
    func remove(_ sidecar: Sidecar, in vault: Vault) {
        stale.withLock { stale in
            guard let index = stale.firstIndex(where: { $0.name == sidecar.name }) else { return }
            stale.remove(at: index)
            if let entry = sidecar.entry, (try? vault.store.status(of: entry, in: sidecar.directory)) != nil { return }
            // The entry was removed long before, so this must not show in the folder's times.
            try? vault.keepingTimes(of: sidecar.folder) { () throws(Errno) in
                try vault.store.unlink(sidecar.name, in: sidecar.folder)
            }
        }
    }
}
