import Control
import Mount

/// Holds: for how long an eviction waits for programs that have asked for it.
///
/// A hold counts from the deadline of the lock itself, and never from now. So that deadline and `longestHold` bound
/// every lock, however many holds follow each other.
extension LockMachine {
    /// The most holds of a mount at a time.
    public static let mostHolds = 64

    /// Why a hold is not granted.
    public enum HoldRefusal: Hashable, Sendable {
        /// The keys are gone, or go now.
        case locked
        case tooMany
        /// There are no holds.
        case forbidden
    }

    /// Why a hold that is asked for now is not granted; nil if it is.
    public func refusalOfHold(at now: Duration) -> HoldRefusal? {
        guard longestHold > .zero else { return .forbidden }
        switch state {
        case .unlocked: break
        // The mount refuses contents already, although the timer's thread has not come to it.
        case .locking, .held: if isDue(at: now) { return .locked }
        case .beforeFirstUnlock, .evicting, .locked: return .locked
        }
        return holds.count < Self.mostHolds ? nil : .tooMany
    }

    /// What the present lock's own deadline is, without the holds.
    private var ownDeadline: Duration? {
        switch state {
        case .locking(let deadline, _), .held(let deadline, _): deadline
        case .beforeFirstUnlock, .unlocked, .evicting, .locked: nil
        }
    }

    /// When the keys go at the latest; nil unless a lock waits.
    public var deadline: Duration? { ownDeadline.map { $0 + (holds.values.max() ?? .zero) } }

    func isDue(at now: Duration) -> Bool { deadline.map { now >= $0 } ?? false }

    /// Sets the timer and the mount's deadline as the state says.
    var arming: [Effect] {
        guard let deadline else { return [] }
        return switch state {
        case .locking(let own, let depth) where holds.isEmpty: [.arm(at: own, depth)]
        case .locking(let own, let depth): [.armHeld(look: own, closing: deadline, depth)]
        case .held(let own, let depth):
            [.armHeld(look: own + (holds.values.min() ?? .zero), closing: deadline, depth)]
        case .beforeFirstUnlock, .unlocked, .evicting, .locked: []
        }
    }

    mutating func add(_ hold: UInt64, _ time: Duration, at now: Duration) -> [Effect] {
        guard refusalOfHold(at: now) == nil, holds[hold] == nil, time > .zero else { return [] }
        holds[hold] = min(time, longestHold)
        // While the lock waits for other holds, this one's time may be over already.
        return settle(endedAt: now, at: now)
    }

    /// Ends the holds whose time is over, and begins the eviction if the lock waits for none any more.
    ///
    /// - Parameter ended: when the lock stopped waiting, unless a hold's time was over later.
    mutating func settle(endedAt ended: Duration, at now: Duration) -> [Effect] {
        guard let own = ownDeadline else { return [] }
        let isGrace = if case .locking = state { true } else { false }
        guard let depth, !isGrace || now >= own else { return arming }
        let over = holds.filter { own + $0.value <= now }
        // A release may come when the timer's thread has not ended yet what is over: the lock has waited until then.
        let due = max(over.values.max().map { own + $0 } ?? ended, ended)
        for hold in over.keys { holds[hold] = nil }
        let ends = over.keys.sorted().map { Effect.endHold($0, .timeOver) }
        guard !holds.isEmpty else { return ends + beginEviction(depth, due: due) }
        state = .held(since: own, depth)
        return ends + arming + (isGrace ? [.announceHeld] : [])
    }

    mutating func endHolds(_ end: HoldEnd) -> [Effect] {
        defer { holds = [:] }
        return holds.keys.sorted().map { .endHold($0, end) }
    }
}
