import Control
import LockSources
import Synchronization

/// The grace periods that the agent has begun, and which sources still want each of them, of which session
/// or screensaver.
///
/// Thread-safe. Only the connection that has begun a grace period can cancel it, so it is kept until then. A grace is
/// known by the daemon's instance and the number of its changes: after another change it is over, or another's too.
final class GraceTable: Sendable {
    private struct Grace {
        let client: ControlClient
        let sequence: Int?
        var sources: Set<Wish>
    }

    private struct Wish: Hashable {
        let source: LockSource
        let subject: String

        init(_ event: SourceEvent) { (source, subject) = (event.source, event.subject) }
    }

    /// By the daemon's instance. A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let graces = Mutex<[String: Grace]>([:])

    /// Adds a source to a grace period that this agent has begun; false if the one under way is not.
    func join(_ event: SourceEvent, _ status: Status) -> Bool {
        graces.withLock { graces in
            guard let instance = status.instance, graces[instance]?.sequence == status.sequence else { return false }
            return graces[instance]?.sources.insert(Wish(event)) != nil
        }
    }

    /// - Parameter status: what the daemon has answered to the lock.
    func begin(_ event: SourceEvent, _ status: Status, _ client: ControlClient) {
        guard let instance = status.instance else { return }
        graces.withLock { $0[instance] = Grace(client: client, sequence: status.sequence, sources: [Wish(event)]) }
    }

    func forget(_ status: Status) {
        graces.withLock { _ = $0.removeValue(forKey: status.instance ?? "") }
    }

    /// Takes a source from a grace period. If no other one wants it any more, forgets it, and returns the connection
    /// that can cancel it; nil if it is over.
    func leave(_ event: SourceEvent, _ status: Status) -> ControlClient? {
        graces.withLock { graces in
            guard let instance = status.instance, graces[instance]?.sources.remove(Wish(event)) != nil,
                graces[instance]?.sources.isEmpty == true, let grace = graces.removeValue(forKey: instance),
                grace.sequence == status.sequence, status.state == .locking
            else { return nil }
            return grace.client
        }
    }
}
