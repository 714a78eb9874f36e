import Synchronization

/// Counts the threads of a `BoundedStore` that make parts of large calls. They are more than it needs: so however many
/// parts hang in the store, no other call lacks a thread.
final class SpareThreads: Sendable {
    private let left: Atomic<Int>

    init(count: Int) { left = Atomic(count) }

    /// The use of one thread as long as the object exists; nil if none is left. Does not block.
    func take() -> Loan? {
        var known = left.load(ordering: .relaxed)
        while known > 0 {
            let (isTaken, seen) = left.weakCompareExchange(expected: known, desired: known - 1, ordering: .relaxed)
            if isTaken { return Loan(self) }
            known = seen
        }
        return nil
    }

    /// A call that was given up keeps it until the store has answered.
    final class Loan: Sendable {
        private let threads: SpareThreads

        fileprivate init(_ threads: SpareThreads) { self.threads = threads }

        deinit { threads.left.add(1, ordering: .relaxed) }
    }
}
