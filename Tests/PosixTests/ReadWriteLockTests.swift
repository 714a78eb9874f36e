import Foundation
import Posix
import Synchronization
import Testing

@Suite struct ReadWriteLockTests {
    @Test func readersShareAndWritersExclude() {
        let lock = ReadWriteLock()
        // Both are only ever raised together, under the lock.
        let pair = Pair()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<2_000 {
                lock.withExclusive {
                    pair.left.add(1, ordering: .relaxed)
                    pair.right.add(1, ordering: .relaxed)
                }
                lock.withShared {
                    #expect(pair.left.load(ordering: .relaxed) == pair.right.load(ordering: .relaxed))
                }
            }
        }
        #expect(pair.left.load(ordering: .relaxed) == 8_000)
    }

    @Test func aWaitingWriterGoesBeforeNewReaders() throws {
        let lock = ReadWriteLock()
        let order = Mutex<[String]>([])
        lock.lockShared()
        let writer = Thread { lock.withExclusive { order.withLock { $0.append("writer") } } }
        writer.start()
        Thread.sleep(forTimeInterval: 0.05)
        let reader = Thread { lock.withShared { order.withLock { $0.append("reader") } } }
        reader.start()
        Thread.sleep(forTimeInterval: 0.05)
        #expect(order.withLock { $0 } == [])
        lock.unlockShared()
        let end = ContinuousClock.now + .seconds(20)
        while !(writer.isFinished && reader.isFinished) {
            try #require(ContinuousClock.now < end, "they wait for each other")
            Thread.sleep(forTimeInterval: 0.001)
        }
        #expect(order.withLock { $0 } == ["writer", "reader"])
    }

    @Test func passesTypedErrorsOn() {
        let lock = ReadWriteLock()
        #expect(throws: Posix.Errno.ENOKEY) { try lock.withShared { () throws(Posix.Errno) in throw .ENOKEY } }
        lock.withExclusive {}
    }

    private final class Pair: Sendable {
        let left = Atomic(0)
        let right = Atomic(0)
    }
}
