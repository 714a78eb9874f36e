public import Control
public import Mount

/// The lock state of one mount, as a value: `handle` takes an event and returns the effects that the owner carries out.
///
/// Times are of the boot clock, which goes on while the machine is suspended.
public struct LockMachine: Hashable, Sendable {
    public enum State: Hashable, Sendable, CustomStringConvertible {
        /// No unlock yet, or none since a deep lock: the key of class D alone is in memory.
        case beforeFirstUnlock
        case unlocked
        /// The grace period runs.
        case locking(until: Duration, LockDepth)
        /// The grace period was over at this time, and the keys stay as long as a program holds the lock.
        case held(since: Duration, LockDepth)
        /// The keys of this depth are being evicted. An unlock has to wait for the end.
        case evicting(LockDepth, wanted: LockDepth)
        case locked

        /// For the log.
        public var description: String {
            switch self {
            case .beforeFirstUnlock: "before the first unlock"
            case .unlocked: "unlocked"
            case .locking(let deadline, let depth): "locking(until: \(deadline), \(depth))"
            case .held(let deadline, let depth): "held(since: \(deadline), \(depth))"
            case .evicting(_, let depth): "evicting(\(depth))"
            case .locked: "locked"
            }
        }
    }

    public enum Event: Hashable, Sendable {
        /// Lock after the grace period. A mount that is locked already has none: its deep lock takes class C's key at
        /// once.
        case lock(LockDepth)
        case lockNow(LockDepth)
        /// A client takes its lock back in the grace period; the value is the number of that lock. The grace period
        /// ends when no lock is left.
        case takeBack(UInt64)
        /// A client wants the keys to stay this much longer than the grace period; the number is its hold's, and new.
        case hold(UInt64, Duration)
        /// That client needs them no more.
        case release(UInt64)
        /// No hold counts any more: the mount was detached.
        case endHolds
        /// A credential was proven to open the vault.
        case unlock
        /// The timer has fired.
        case deadline
        /// The eviction has ended: the keys are wiped.
        case evicted
    }

    public enum Effect: Hashable, Sendable {
        /// Set the timer; replaces an earlier deadline.
        case arm(at: Duration, LockDepth)
        case disarm
        /// A program holds the lock: set the timer to `look`, and let the mount close at `closing`, which may be later
        /// than before.
        case armHeld(look: Duration, closing: Duration, LockDepth)
        /// Tell the client that its hold has ended.
        case endHold(UInt64, HoldEnd)
        case evict(LockDepth)
        /// Install the proven keys. If that fails, the event has not happened.
        case admit
        /// Try the unlock again when the eviction has ended.
        case awaitEviction
        /// Tell all clients that monitor: contents will become unavailable (or more of them, or earlier than
        /// announced), have become unavailable, or are available.
        case announce
        /// Tell them that the grace period is over, and that the keys stay for the programs that hold the lock.
        case announceHeld
    }

    public let grace: Duration
    /// How long class C's key stays while the mount is locked; nil for ever.
    public let forgetAfter: Duration?
    /// The most that a hold delays an eviction, from the deadline of the lock itself; zero if there are no holds.
    public let longestHold: Duration
    public internal(set) var state = State.beforeFirstUnlock
    /// Number of locks requested so far. An unlock that began before the last one fails.
    public private(set) var locks: UInt64 = 0
    /// How much longer than the grace period each hold wants the keys, by its number. Empty while they are evicted, and
    /// while they are gone.
    public internal(set) var holds: [UInt64: Duration] = [:]
    /// The numbers of the locks that want the grace period under way: all since its beginning that were not taken back.
    private var wishes: Set<UInt64> = []
    /// Beyond it a grace period is final.
    private static let mostWishes = 1000
    /// The deadline of the eviction under way, or of the last one.
    private var due: Duration?
    /// When class C's key goes; nil unless the mount is locked and forgets.
    public private(set) var forgetDeadline: Duration?
    /// Time from that deadline until the last lock's keys were wiped.
    public private(set) var lastLockDuration: Duration?

    public init(grace: Duration, forgetAfter: Duration? = nil, longestHold: Duration = .zero) {
        self.grace = grace
        self.forgetAfter = forgetAfter
        self.longestHold = longestHold
    }

    /// What the lock under way takes, or the last one has taken; nil while unlocked and before any unlock.
    public var depth: LockDepth? {
        switch state {
        case .beforeFirstUnlock: lastLockDuration == nil ? nil : .deep
        case .unlocked: nil
        case .locking(_, let depth), .held(_, let depth), .evicting(_, let depth): depth
        case .locked: .strict
        }
    }

    public mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
        switch event {
        case .lock, .lockNow: locks += 1
        case .takeBack, .hold, .release, .endHolds, .unlock, .deadline, .evicted: break
        }
        switch (state, event) {
        case (_, .hold(let hold, let time)):
            return add(hold, time, at: now)
        case (_, .release(let hold)):
            return holds.removeValue(forKey: hold) == nil ? [] : settle(endedAt: now, at: now)
        case (_, .endHolds):
            return endHolds(.detached) + settle(endedAt: now, at: now)

        case (.unlocked, .lock(let depth)) where grace > .zero:
            wishes = []
            wish()
            state = .locking(until: now + grace, depth)
            return arming + [.announce]
        case (.unlocked, .lock(let depth)) where !holds.isEmpty:
            state = .held(since: now, depth)
            return arming + [.announce, .announceHeld]
        case (.unlocked, .lock(let depth)), (.unlocked, .lockNow(let depth)):
            return beginEviction(depth, due: now) + [.announce]

        // A second lock never moves the deadline later, and the grace period is the same for all. It may close more.
        case (.locking(let deadline, let depth), .lock(let wanted)):
            wish()
            guard wanted > depth else { return [] }
            state = .locking(until: deadline, wanted)
            return arming + [.announce]
        case (.held(let deadline, let depth), .lock(let wanted)):
            guard wanted > depth else { return [] }
            state = .held(since: deadline, wanted)
            return arming + [.announce]
        case (.locking(_, let depth), .lockNow(let wanted)), (.held(_, let depth), .lockNow(let wanted)):
            return [.disarm] + beginEviction(max(depth, wanted), due: now) + [.announce]
        case (.locking, .unlock), (.held, .unlock):
            // The keys are still in memory, so the proven ones are not needed.
            state = .unlocked
            return [.disarm, .announce]
        // Only in the grace period, and as long as another client wants the lock, it stands: a hold gives no more time
        // in which a lock can be taken back without a credential. A grace period that was made deep stays deep.
        case (.locking(let deadline, _), .takeBack(let lock)) where now < deadline:
            guard wishes.remove(lock) != nil, wishes.isEmpty else { return [] }
            state = .unlocked
            return [.disarm, .announce]
        case (.locking(let deadline, _), .deadline):
            // The timer of an earlier, cancelled lock may have fired just before this one was set.
            guard now >= deadline else { return arming }
            // The deadline was announced already.
            return settle(endedAt: deadline, at: now)
        case (.held(let since, _), .deadline):
            return settle(endedAt: since, at: now)

        // One eviction at a time: the deeper one follows.
        case (.evicting(let depth, let wanted), .lock(let more)),
            (.evicting(let depth, let wanted), .lockNow(let more)):
            guard more > wanted else { return [] }
            state = .evicting(depth, wanted: more)
            return [.announce]
        case (.evicting, .unlock):
            return [.awaitEviction]
        case (.evicting(let depth, let wanted), .evicted):
            return endEviction(depth, wanted, at: now)

        case (.locked, .lock(.deep)), (.locked, .lockNow(.deep)):
            return beginEviction(.deep, due: now) + [.announce]
        case (.locked, .deadline):
            guard let forgetDeadline else { return [] }
            guard now >= forgetDeadline else { return [.arm(at: forgetDeadline, .deep)] }
            return beginEviction(.deep, due: forgetDeadline) + [.announce]
        case (.beforeFirstUnlock, .unlock), (.locked, .unlock):
            state = .unlocked
            let disarm: [Effect] = forgetDeadline == nil ? [] : [.disarm]
            forgetDeadline = nil
            return disarm + [.admit, .announce]

        // Nothing to lock, already unlocked, or a timer that fired before it was disarmed.
        case (.beforeFirstUnlock, _), (.locked, _), (.unlocked, _), (.evicting, _), (.locking, .evicted),
            (.locking, .takeBack), (.held, .evicted), (.held, .takeBack):
            return []
        }
    }

    /// The last lock wants the grace period.
    private mutating func wish() {
        // No lock has the number 0, so it cannot be taken back.
        wishes.insert(wishes.count < Self.mostWishes ? locks : 0)
    }

    /// Ends all holds: none of them comes alive again at the next unlock.
    mutating func beginEviction(_ depth: LockDepth, due: Duration) -> [Effect] {
        let ends = endHolds(.locked)
        state = .evicting(depth, wanted: depth)
        self.due = due
        forgetDeadline = nil
        return [.evict(depth)] + ends
    }

    private mutating func endEviction(_ depth: LockDepth, _ wanted: LockDepth, at now: Duration) -> [Effect] {
        if wanted > depth {
            state = .evicting(wanted, wanted: wanted)
            return [.evict(wanted)]
        }
        state = depth == .deep ? .beforeFirstUnlock : .locked
        lastLockDuration = due.map { max(now - $0, .zero) }
        guard depth == .strict, let forgetAfter, let due else { return [.announce] }
        forgetDeadline = due + forgetAfter
        return [.arm(at: due + forgetAfter, .deep), .announce]
    }

    /// Time until the eviction during the grace period and while programs hold the lock; zero during the eviction;
    /// else nil.
    public func graceRemaining(at now: Duration) -> Duration? {
        if case .evicting = state { return .zero }
        return deadline.map { max($0 - now, .zero) }
    }
}
