import Posix
import Synchronization
import Testing

@testable import Vault

@Suite struct ObserverTests {
    /// As many calls as a daemon's checkpoints make in an hour: each call of the observer must be as short as the
    /// first.
    @Test func theObserverOfCheckpointsIsCalledAnyNumberOfTimes() throws {
        let test = try TestVault()
        let count = Atomic<Int>(0)
        let file = try test.create("file")
        let status = try file.status()
        test.vault.observeCheckpoints { _, _ in count.add(1, ordering: .relaxed) }
        for _ in 0..<50_000 { test.vault.noteCheckpoint(status, file.header) }
        let calls = count.load(ordering: .relaxed)
        #expect(calls == 50_000)
    }
}
