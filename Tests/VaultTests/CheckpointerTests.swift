import Glibc
import Posix
import Store
import Synchronization
import TestStores
import Testing

@testable import Vault

/// The thread that checkpoints in the background.
@Suite struct CheckpointerTests {
    /// Fails every flush while `fails` is set.
    private final class FailingFlushes: Interceptor {
        let fails = Atomic(false)

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            let isFlush = operation.kind == .synchronize || operation.kind == .synchronizeAll
            if isFlush && fails.load(ordering: .relaxed) { throw .EIO }
            return try proceed()
        }
    }

    private final class Count: Sendable {
        let failures = Atomic(0)
    }

    /// A writer signals low space each time that the journal fills up: a disk that fails is not flushed as often.
    @Test func aFailureIsNotTriedAgainAtEachSignal() throws {
        let hook = FailingFlushes()
        let test = try TestVault { InterceptingStore($0, hook: hook) }
        // More than half of the dirty files that are allowed: enough for a checkpoint at once.
        test.vault.mostDirtyFiles = 64
        for number in 0..<40 { try test.create(Name(bytes: "file \(number)".utf8)!).write([1], at: 0) }
        hook.fails.store(true, ordering: .relaxed)
        let count = Count()
        let checkpointer = try Checkpointer(test.vault) { _ in count.failures.add(1, ordering: .relaxed) }
        try checkpointer.start()
        defer { checkpointer.stop() }
        let lowSpace = try #require(test.vault.checkpoints.lowSpace.withLock { $0 })
        let end = ContinuousClock.now + .seconds(60)
        while count.failures.load(ordering: .relaxed) == 0 {
            try #require(ContinuousClock.now < end, "nothing is checkpointed")
            lowSpace.signal()
            usleep(1000)
        }
        let before = count.failures.load(ordering: .relaxed)
        for _ in 0..<400 {
            lowSpace.signal()
            usleep(2000)
        }
        #expect(count.failures.load(ordering: .relaxed) - before < 200)
    }

    /// Before a request has to wait for a checkpoint, because as many files are dirty as may be.
    @Test func manyDirtyFilesWakeIt() throws {
        let test = try TestVault()
        defer { test.vault.abandon() }
        test.vault.mostDirtyFiles = 64
        let lowSpace = try Wakeup()
        test.vault.checkpoints.lowSpace.withLock { $0 = lowSpace }
        for number in 0..<32 { try test.create(Name(bytes: "file \(number)".utf8)!).write([1], at: 0) }
        #expect(!lowSpace.clear())
        try test.create("one more").write([1], at: 0)
        #expect(lowSpace.clear())
    }

    /// At any moment: once the vault is closed, no checkpoint runs any more.
    @Test func nothingRunsBehindTheStop() throws {
        let test = try TestVault()
        for turn in 0..<200 {
            var checkpointer: Checkpointer? = try Checkpointer(test.vault) { _ in }
            weak let left = checkpointer
            try checkpointer?.start()
            checkpointer?.stop()
            checkpointer = nil
            #expect(left == nil, "turn \(turn): its thread still has it")
        }
    }
}
