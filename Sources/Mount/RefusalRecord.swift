import Format
import Posix
import Synchronization
import Vault

/// What the mount has refused because it is damaged.
///
/// Bounded, since an attacker may damage everything: of objects beyond the first ones, only the refusals are counted.
final class RefusalRecord: Sendable {
    /// What was refused: an inode that the kernel knows, or a name in a folder, which did not become one.
    enum Subject: Hashable {
        case object(BackingInode, Node.Identity)
        case entry(folder: BackingInode, Name)
    }

    private static let mostSubjects = 64
    private static let mostReasons = 8

    private struct State {
        var damage: [Subject: Damage] = [:]
        var count = 0
        var last: (reason: String, time: Timespec)?
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

    func note(_ reason: String, at subject: Subject?) {
        let now = Timespec.now
        state.withLock { state in
            state.count += 1
            state.last = (reason, now)
            guard let subject else { return }
            if state.damage[subject] == nil, state.damage.count == Self.mostSubjects { return }
            var damage = state.damage[subject] ?? Damage(reasons: [], at: now)
            damage.refusals += 1
            damage.last = now
            if !damage.reasons.contains(reason), damage.reasons.count < Self.mostReasons {
                damage.reasons.append(reason)
            }
            state.damage[subject] = damage
        }
    }

    /// What is known of one object under all of its subjects.
    func damage(of subjects: [Subject]) -> Damage? {
        state.withLock { state in
            subjects.compactMap { state.damage[$0] }.reduce(nil) { sum, next in
                guard var sum else { return next }
                sum.reasons += next.reasons.filter { !sum.reasons.contains($0) }
                sum.refusals += next.refusals
                sum.first = min(sum.first, next.first)
                sum.last = max(sum.last, next.last)
                return sum
            }
        }
    }

    /// Nil if nothing was refused.
    var summary: RefusalSummary? {
        state.withLock { state in
            state.last.map { RefusalSummary(count: state.count, lastReason: $0.reason, last: $0.time) }
        }
    }
}

/// Damage that was noticed in one file, folder or link since the mount.
public struct Damage: Hashable, Sendable {
    /// Each reason once.
    public var reasons: [String]
    /// How many requests were refused for it.
    public var refusals: Int
    /// When it was noticed first and last.
    public var first: Timespec
    public var last: Timespec
    /// It cannot be opened, so all of its contents are out of reach.
    public var isWhole = false

    init(reasons: [String], refusals: Int = 0, at time: Timespec) {
        (self.reasons, self.refusals, first, last) = (reasons, refusals, time, time)
    }
}

/// How much was refused since the mount because it is damaged.
public struct RefusalSummary: Hashable, Sendable {
    public var count: Int
    public var lastReason: String
    public var last: Timespec
}
