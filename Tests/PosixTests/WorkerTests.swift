import Glibc
import Posix
import Synchronization
import Testing

@Suite struct WorkerTests {
    private final class Owner: Sendable {
        let worker = Worker()
        let wakeup: Wakeup
        let ends = Atomic(0)

        init() throws { wakeup = try Wakeup() }

        func start() throws {
            try worker.start { [self] in
                wakeup.wait()
                ends.add(1, ordering: .relaxed)
            }
        }

        func stop() {
            wakeup.signal()
            worker.join()
        }
    }

    /// Also a thread that has not begun yet.
    @Test func nothingRunsBehindTheJoin() throws {
        for turn in 0..<500 {
            var owner: Owner? = try Owner()
            weak let left = owner
            try owner?.start()
            owner?.stop()
            #expect(owner?.ends.load(ordering: .relaxed) == 1)
            owner = nil
            #expect(left == nil, "turn \(turn): the thread still has its owner")
        }
    }

    @Test func severalMayWait() throws {
        let owner = try Owner()
        try owner.start()
        let returned = Atomic(0)
        runInParallel(4) {
            owner.stop()
            returned.add(owner.ends.load(ordering: .relaxed), ordering: .relaxed)
        }
        #expect(returned.load(ordering: .relaxed) == 4)
        // A worker that was never started, or was already joined, has ended.
        owner.stop()
        Worker().join()
    }
}
