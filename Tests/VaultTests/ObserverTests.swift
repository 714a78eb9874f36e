import Posix
import Synchronization
import Testing

@testable import Vault

@Suite struct ObserverTests {
    /// As many as a daemon settles in an hour: each call of the observer must be as short as the first.
    @Test func theObserverOfSettlingIsCalledAnyNumberOfTimes() throws {
        let test = try TestVault()
        let count = Atomic<Int>(0)
        let file = try test.create("file")
        let status = try file.status()
        test.vault.observeSettling { _, _ in count.add(1, ordering: .relaxed) }
        for _ in 0..<50_000 { test.vault.noteSettled(status, file.header) }
        let calls = count.load(ordering: .relaxed)
        #expect(calls == 50_000)
    }
}
