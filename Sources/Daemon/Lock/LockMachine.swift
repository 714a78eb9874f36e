/// The lock state of one mount, as a value: an event goes in, the effects that its owner has to carry out come out.
///
/// Times are of the boot clock, which goes on while the machine is suspended.
public struct LockMachine: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case beforeFirstUnlock
        case unlocked
        /// The grace runs.
        case locking(until: Duration)
        /// The keys are being taken out. Nothing brings them back before that has ended.
        case evicting
        case locked
    }

    public enum Event: Hashable, Sendable {
        /// Lock after the grace.
        case lock
        case lockNow
        /// Someone has proven a passcode or a recovery key.
        case unlock
        /// The timer has fired.
        case deadline
        /// The keys are gone.
        case evicted
    }

    public enum Effect: Hashable, Sendable {
        /// Set the timer, in the place of an earlier deadline.
        case arm(at: Duration)
        case disarm
        case evict
        /// Put the proven keys in their place. Should that fail, the event has not happened.
        case admit
        /// The unlock has to be tried again when the eviction has ended.
        case awaitEviction
        /// Tell all who watch: contents are to become unavailable, earlier than they knew, or have, or are available.
        case announce
    }

    public let grace: Duration
    public private(set) var state = State.beforeFirstUnlock
    /// How often somebody has asked for a lock: an unlock that was asked for before the last one is none any more.
    public private(set) var locks: UInt64 = 0
    /// When the keys that are being taken out, or were last, had to go.
    private var due: Duration?
    /// From then until the last lock's keys were gone.
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

        // A second lock never moves the deadline later, and the grace is the same for all.
        case (.locking, .lock):
            return []
        case (.locking, .lockNow):
            beginEviction(due: now)
            return [.disarm, .evict, .announce]
        case (.locking, .unlock):
            // The keys never left: those just proven are not needed.
            state = .unlocked
            return [.disarm, .announce]
        case (.locking(let deadline), .deadline):
            // The timer of an earlier lock, which was cancelled, may have fired just before this one was set.
            guard now >= deadline else { return [.arm(at: deadline)] }
            // As it was announced: nothing new to those who watch.
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

        // Nothing to lock; unlocked already; a timer that was disarmed too late.
        case (.beforeFirstUnlock, _), (.locked, _), (.unlocked, _), (.evicting, _), (.locking, .evicted):
            return []
        }
    }

    private mutating func beginEviction(due: Duration) {
        state = .evicting
        self.due = due
    }

    /// The time until the keys go, while the grace runs; zero while they are being taken out; else nil.
    public func graceRemaining(at now: Duration) -> Duration? {
        switch state {
        case .locking(let deadline): max(deadline - now, .zero)
        case .evicting: .zero
        case .beforeFirstUnlock, .unlocked, .locked: nil
        }
    }
}
