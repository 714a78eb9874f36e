import Posix
import Synchronization

/// The requests whose callers were sent a signal while they wait.
///
/// Thread-safe. The kernel's message may be read after the answer was sent: such entries stay until others push them
/// out, which does no harm, because the numbers of requests do not repeat.
final class Interrupts: Sendable {
    static let most = 1024
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let requests = Mutex<[UInt64]>([])
    /// The number of entries. It is almost always 0, and then no thread takes the lock.
    private let count = Atomic(0)

    func add(_ unique: UInt64) {
        change { requests in
            if requests.count == Self.most { requests.removeFirst() }
            requests.append(unique)
        }
    }

    func contains(_ unique: UInt64) -> Bool {
        guard count.load(ordering: .acquiring) != 0 else { return false }
        return requests.withLock { $0.contains(unique) }
    }

    /// The request was answered.
    func remove(_ unique: UInt64) {
        guard count.load(ordering: .acquiring) != 0 else { return }
        change { requests in requests.removeAll { $0 == unique } }
    }

    private func change(_ body: (inout [UInt64]) -> Void) {
        requests.withLock { requests in
            body(&requests)
            count.store(requests.count, ordering: .releasing)
        }
    }
}
