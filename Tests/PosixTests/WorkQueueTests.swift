import Posix
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct WorkQueueTests {
    /// Work items that add up to a sum of their numbers.
    private final class Sum: Sendable {
        let value = Atomic(0)
        func piece(_ number: Int) -> @Sendable () -> Void { { self.value.add(number, ordering: .relaxed) } }
    }

    @Test func `when it has stopped, all pieces have run and nothing holds it`() throws {
        for turn in 0..<200 {
            let sum = Sum()
            var queue: WorkQueue? = WorkQueue()
            weak let left = queue
            queue?.add(sum.piece(1))
            try queue?.start()
            queue?.add(sum.piece(2))
            queue?.stop()
            #expect(sum.value.load(ordering: .relaxed) == 3)
            queue?.add(sum.piece(4))
            #expect(sum.value.load(ordering: .relaxed) == 7, "at once, behind the end")
            queue = nil
            #expect(left == nil, "turn \(turn)")
        }
    }

    @Test func `one that no thread was made for runs what it has at its end`() {
        let sum = Sum()
        let queue = WorkQueue()
        queue.add(sum.piece(1))
        queue.add(sum.piece(2))
        queue.stop()
        #expect(sum.value.load(ordering: .relaxed) == 3)
    }
}
