import Posix
import Store
import Synchronization

/// Sidecars of long names, and long targets of symbolic links, whose entries are gone. They go when that is durable: an
/// entry without its sidecar is lost.
final class StaleSidecars: Sendable {
    struct Sidecar {
        /// Where it lies.
        let folder: Descriptor
        let name: Name
        /// The directory of the entry.
        let directory: Descriptor
        /// The entry that it belongs to; nil if it was that entry's alone, which does not come back.
        let entry: Name?
    }

    private let stale = Mutex<[Sidecar]>([])

    var isEmpty: Bool { stale.withLock { $0.isEmpty } }
    var count: Int { stale.withLock { $0.count } }

    func add(_ sidecar: Sidecar) { stale.withLock { $0.append(sidecar) } }

    /// The entry comes back: its sidecar stays. The hash in the name is of this directory alone.
    func keep(_ name: Name) { stale.withLock { $0.removeAll { $0.name == name } } }

    var all: [Sidecar] { stale.withLock { $0 } }

    /// Removes a sidecar unless it was to be kept meanwhile. Under the lock: `keep` comes before or after it as a
    /// whole.
    func remove(_ sidecar: Sidecar, in vault: Vault) {
        stale.withLock { stale in
            guard let index = stale.firstIndex(where: { $0.name == sidecar.name }) else { return }
            stale.remove(at: index)
            if let entry = sidecar.entry, (try? vault.store.status(of: entry, in: sidecar.directory)) != nil { return }
            // Long after the change that made it stale: nothing is seen of it.
            try? vault.keepingTimes(of: sidecar.folder) { () throws(Errno) in
                try vault.store.unlink(sidecar.name, in: sidecar.folder)
            }
        }
    }
}
