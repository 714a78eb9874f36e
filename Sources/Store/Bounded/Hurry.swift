import Posix
import Synchronization

/// Why the callers of a store may not wait for it as long as it takes.
public enum Hurry: Int, CaseIterable, Sendable {
    /// The keys must leave memory.
    case lock
    /// The process must end.
    case end

    /// How long the store has to answer, from the beginning of the hurry and from that of the call on. A lock may give
    /// up two calls of a request one after the other, and must be done within 5 s.
    var patience: Duration { self == .lock ? .seconds(2) : .seconds(5) }
}

/// The hurries under way. Thread-safe, takes no lock.
final class Hurries: Sendable {
    /// The beginning of each, in nanoseconds of the monotonic clock; 0 while it is not under way.
    private let lock = Atomic<Int64>(0)
    private let end = Atomic<Int64>(0)
    private let begun = Atomic<UInt64>(0)

    private func withBeginning<Result>(of hurry: Hurry, _ body: (borrowing Atomic<Int64>) -> Result) -> Result {
        switch hurry {
        case .lock: body(lock)
        case .end: body(end)
        }
    }

    func begin(_ hurry: Hurry) {
        begun.add(1, ordering: .sequentiallyConsistent)
        let now = MonotonicClock.now.nanoseconds
        withBeginning(of: hurry) { $0.store(now, ordering: .sequentiallyConsistent) }
    }

    func finish(_ hurry: Hurry) {
        withBeginning(of: hurry) { $0.store(0, ordering: .sequentiallyConsistent) }
    }

    /// The number of the last hurry that has begun; nil while none is under way.
    var current: UInt64? {
        Hurry.allCases.allSatisfy { beginning(of: $0) == 0 } ? nil : begun.load(ordering: .sequentiallyConsistent)
    }

    /// How much longer a call that began at `start` may wait; nil for as long as it takes.
    func patience(since start: Duration) -> Duration? {
        Hurry.allCases.compactMap { hurry in
            let beginning = beginning(of: hurry)
            guard beginning != 0 else { return nil }
            return max(.nanoseconds(beginning), start) + hurry.patience - MonotonicClock.now
        }.min()
    }

    private func beginning(of hurry: Hurry) -> Int64 {
        withBeginning(of: hurry) { $0.load(ordering: .sequentiallyConsistent) }
    }
}
