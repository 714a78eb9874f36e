/// The lock state of one mount, as a value: `handle` takes an event and returns the effects that the owner carries out.
///
/// Times are of the boot clock, which goes on while the machine is suspended.
public struct LockMachine: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case beforeFirstUnlock
        case unlocked
        /// The grace period runs.
        case locking(until: Duration)
        /// The keys are being evicted. An unlock has to wait for the end.
        case evicting
        case locked
    }

    public enum Event: Hashable, Sendable {
        /// Lock after the grace period.
        case lock
        case lockNow
        /// A credential was proven to open the vault.
        case unlock
        /// The timer has fired.
        case deadline
        /// The eviction has ended: the keys are wiped.
        case evicted
    }

    public enum Effect: Hashable, Sendable {
        /// Set the timer; replaces an earlier deadline.
        case arm(at: Duration)
        case disarm
        case evict
        /// Install the proven keys. If that fails, the event has not happened.
        case admit
        /// Try the unlock again when the eviction has ended.
        case awaitEviction
        /// Tell all clients that monitor: contents will become unavailable (or earlier than announced), have become
        /// unavailable, or are available.
        case announce
    }

    public let grace: Duration
    public private(set) var state = State.beforeFirstUnlock
    /// Number of locks requested so far. An unlock that began before the last one fails.
    public private(set) var locks: UInt64 = 0
    /// The deadline of the eviction under way, or of the last one.
    private var due: Duration?
    /// Time from that deadline until the last lock's keys were wiped.
    public private(set) var lastLockDuration: Duration?

    public init(grace: Duration) {
        self.grace = grace
    }

    public mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
        if event == .lock || event == .lockNow { locks += 1 }
        switch (state, event) {
        case (.unlocked, .lock) where grace > .zero:
            state = .locking(until: now + grace)
            return [.arm(at: now + grace), .announce]
        case (.unlocked, .lock), (.unlocked, .lockNow):
            beginEviction(due: now)
            return [.evict, .announce]

        // A second lock never moves the deadline later, and the grace period is the same for all.
        case (.locking, .lock):
            return []
        case (.locking, .lockNow):
            beginEviction(due: now)
            return [.disarm, .evict, .announce]
        case (.locking, .unlock):
            // The keys are still in memory, so the proven ones are not needed.
            state = .unlocked
            return [.disarm, .announce]
        case (.locking(let deadline), .deadline):
            // The timer of an earlier, cancelled lock may have fired just before this one was set.
            guard now >= deadline else { return [.arm(at: deadline)] }
            // The deadline was announced already.
            beginEviction(due: deadline)
            return [.evict]

        case (.evicting, .unlock):
            return [.awaitEviction]
        case (.evicting, .evicted):
            state = .locked
            lastLockDuration = due.map { max(now - $0, .zero) }
            return [.announce]

        case (.beforeFirstUnlock, .unlock), (.locked, .unlock):
            state = .unlocked
            return [.admit, .announce]

        // Nothing to lock, already unlocked, or a timer that fired before it was disarmed.
        case (.beforeFirstUnlock, _), (.locked, _), (.unlocked, _), (.evicting, _), (.locking, .evicted):
            return []
        }
    }

    private mutating func beginEviction(due: Duration) {
        state = .evicting
        self.due = due
    }

    /// Time until the eviction during the grace period; zero during the eviction; else nil.
    public func graceRemaining(at now: Duration) -> Duration? {
        switch state {
        case .locking(let deadline): max(deadline - now, .zero)
        case .evicting: .zero
        case .beforeFirstUnlock, .unlocked, .locked: nil
        }
    }
}
