import Control
import LockSources
import Synchronization

/// The locks that the agent has asked for and may take back, and which sources still want each of them, of which
/// session or screensaver.
///
/// Thread-safe. Only the connection that has asked for a lock can take it back, so it is kept until the grace period is
/// over. All sources ask over the same one: for the daemon that is one lock.
final class GraceTable: Sendable {
    private struct Wish: Hashable {
        let source: LockSource
        let subject: String

        init(_ event: SourceEvent) { (source, subject) = (event.source, event.subject) }
    }

    private struct Grace {
        let client: ControlClient
        var wishes: Set<Wish>
        var end: ContinuousClock.Instant
        /// The number of the mount's changes when the first source asked.
        let sequence: Int?
    }

    /// Of one user: another user's daemons can say that a grace period runs as often as they like. The locks of further
    /// mounts cannot be taken back.
    private static let mostOfOneUser = 64
    /// A daemon answers later than this, or not at all.
    private static let patience = Duration.seconds(30)
    /// The longest grace period and hold that a policy can allow.
    private static let longest = 90_000.0

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let graces = Mutex<[MountIdentity: Grace]>([:])

    /// Notes that a source wants a lock. Returns the connection that asks for it: that of the sources before it, or the
    /// mount's own.
    func join(_ event: SourceEvent, _ mount: ServedMount) -> ControlClient {
        let key = MountIdentity(mount)
        return graces.withLock { graces in
            graces = graces.filter { $0.value.end > .now }
            // A person has unlocked it since: what sources wanted before that is over. Two that ask at the same time
            // have seen the same number.
            if mount.status.state == .unlocked, let grace = graces[key], grace.sequence != mount.status.sequence {
                graces[key] = nil
            }
            if graces[key]?.wishes.insert(Wish(event)) != nil { return graces[key]?.client ?? mount.client }
            if graces.keys.count(where: { $0.owner == key.owner }) < Self.mostOfOneUser {
                graces[key] = Grace(
                    client: mount.client, wishes: [Wish(event)], end: .now + Self.patience,
                    sequence: mount.status.sequence)
            }
            return mount.client
        }
    }

    /// - Parameter seconds: how long the lock is under way at most, as the daemon says.
    func began(_ mount: ServedMount, _ client: ControlClient, seconds: Double) {
        graces.withLock { graces in
            guard graces[MountIdentity(mount)]?.client === client else { return }
            let left = Duration.seconds(min(max(seconds, 0), Self.longest))
            graces[MountIdentity(mount)]?.end = .now + left + Self.patience
        }
    }

    /// - Parameter client: nil for any.
    func forget(_ mount: ServedMount, _ client: ControlClient? = nil) {
        graces.withLock { graces in
            if client == nil || graces[MountIdentity(mount)]?.client === client { graces[MountIdentity(mount)] = nil }
        }
    }

    /// Takes a source's wish back. If no other source has one, forgets the lock, and returns the connection that can
    /// take it back.
    func leave(_ event: SourceEvent, _ mount: ServedMount) -> ControlClient? {
        graces.withLock { graces in
            graces = graces.filter { $0.value.end > .now }
            guard graces[MountIdentity(mount)]?.wishes.remove(Wish(event)) != nil,
                graces[MountIdentity(mount)]?.wishes.isEmpty == true
            else { return nil }
            return graces.removeValue(forKey: MountIdentity(mount))?.client
        }
    }
}
