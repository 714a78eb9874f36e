import Control
import Glibc
import Posix
import Synchronization

/// Mounts that come just after a source has said that mounts are to be locked: `latchkey open` derives keys from a
/// passcode for seconds before its mount is there, and must not leave a vault open behind a locked screen.
///
/// Thread-safe.
final class Latecomers: Sendable {
    private struct Beginning {
        /// The mounts that were there already: what becomes of them is not decided again.
        var known: Set<MountIdentity> = []
        var end: ContinuousClock.Instant
    }

    private static let time = Duration.seconds(10)
    /// A sleep lasts until the machine has woken up.
    private static let longestSleep = Duration.seconds(1_000_000_000)
    /// In microseconds.
    private static let interval: UInt32 = 500_000

    /// By the event that began. A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let beginnings = Mutex<[SourceEvent: Beginning]>([:])

    /// Notes that an event begins. For a while `again` gets the same event in the phase `lasts`, for mounts that are
    /// new. There is one thread for each source and session, however often it begins and ends.
    func begin(_ event: SourceEvent, again: @escaping @Sendable (SourceEvent) -> Void) {
        // A person may log in again at once.
        guard event.source != .logout else { return }
        let isNew = beginnings.withLock { beginnings in
            let time = event.source.isImmediate ? Self.longestSleep : Self.time
            defer { beginnings[event.in(.began)] = Beginning(end: .now + time) }
            return beginnings[event.in(.began)] == nil
        }
        guard isNew, !event.source.isImmediate else { return }
        do throws(Errno) { try startThread { [self] in watch(event.in(.began), again) } } catch {
            // The event itself is carried out all the same.
            beginnings.withLock { $0[event.in(.began)] = nil }
        }
    }

    /// The reason of an event is gone: what comes from now on is not locked.
    func end(_ event: SourceEvent) {
        beginnings.withLock { $0[event.in(.began)]?.end = .now }
    }

    /// A session has ended: its user may log in again at once.
    func end(subject: String) {
        beginnings.withLock { beginnings in
            for event in beginnings.keys where event.subject == subject { beginnings[event]?.end = .now }
        }
    }

    /// Whether mounts that come now are to be locked because of an event.
    func lasts(_ event: SourceEvent) -> Bool {
        beginnings.withLock { $0[event.in(.began)].map { $0.end > .now } ?? false }
    }

    /// Forgets an event that no thread watches.
    func forget(_ event: SourceEvent) {
        beginnings.withLock { $0[event.in(.began)] = nil }
    }

    /// Whether an event means this mount: all when it begins, and later those that were not there.
    func means(_ mount: ServedMount, _ event: SourceEvent) -> Bool {
        beginnings.withLock { beginnings in
            let isNew = beginnings[event.in(.began)]?.known.insert(MountIdentity(mount)).inserted == true
            if event.phase == .began { return true }
            return isNew && beginnings[event.in(.began)].map { $0.end > .now } ?? false
        }
    }

    private func watch(_ event: SourceEvent, _ again: @Sendable (SourceEvent) -> Void) {
        // The kernel tells when there is a mount, but a daemon listens some time after that: so the daemons are asked.
        while !isOver(event) {
            _ = usleep(Self.interval)
            if lasts(event) { again(event.in(.lasts)) }
        }
    }

    private func isOver(_ event: SourceEvent) -> Bool {
        beginnings.withLock { beginnings in
            guard let beginning = beginnings[event], beginning.end <= .now else { return false }
            beginnings[event] = nil
            return true
        }
    }
}

/// A mount as long as its daemon runs.
struct MountIdentity: Hashable {
    let owner: UInt32
    /// Empty for an older daemon.
    let instance: String

    init(_ mount: ServedMount) { (owner, instance) = (mount.owner, mount.status.instance ?? "") }
}
