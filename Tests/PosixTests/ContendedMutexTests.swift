import Posix
import Testing

@Suite struct ContendedMutexTests {
    private struct Refused: Error {}

    /// A body that throws gives the lock back.
    @Test func oneThreadAtATime() throws {
        let counts = ContendedMutex((first: 0, second: 0))
        let workers = try (0..<8).map { _ in
            let worker = Worker()
            try worker.start {
                for turn in 0..<20_000 {
                    try? counts.withLock { counts throws(Refused) in
                        counts.first += 1
                        if turn % 100 == 0 { throw Refused() }
                        counts.second = counts.first
                    }
                }
            }
            return worker
        }
        for worker in workers { worker.join() }
        #expect(counts.withLock { $0.first } == 160_000)
        // The last turn of each thread throws nothing.
        #expect(counts.withLock { $0.second } == 160_000)
    }
}
