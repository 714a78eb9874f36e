import Dispatch
import Format
import TestStores
import class Foundation.ProcessInfo
import Posix
import Synchronization
import Testing
import Writeback

@testable import Vault

/// What users do to a file while the vault checkpoints it: the file is not locked while it is flushed.
@Suite struct CheckpointTests {
    /// Runs `body` once for each flush that it makes, each time with a new vault and the number of the flush, counted
    /// from 1, during which the hook acts. Flushes count until `body` stops the hook.
    private func inEachFlush(_ body: (TestVault, ActsDuringFlushes, Int) throws -> Void) throws {
        var (nth, flushes) = (0, 2)
        while nth < flushes {
            nth += 1
            let hook = ActsDuringFlushes(known: flushes)
            try body(try TestVault { InterceptingStore($0, hook: hook) }, hook, nth)
            flushes = hook.most
            if let failure = hook.failure { throw failure }
        }
    }

    /// A truncated file is checkpointed. At each moment of the checkpoint the file grows again; afterwards it is
    /// written to once more.
    @Test(arguments: [4148, 0, 40_960]) func bytesAppendedMeanwhileReadBack(length: Int) throws {
        try inEachFlush { (test, hook, nth) in
            let file = try test.create("file")
            var model = [UInt8](repeating: 1, count: 129_811)
            try file.write(model, at: 0)
            try test.vault.checkpoint()
            try file.truncate(to: UInt64(length))
            hook.during(nth, of: file) {
                try file.truncate(to: 89_740)
                try file.write([UInt8](repeating: 2, count: 19_398), at: 64_462)
                try file.write([UInt8](repeating: 3, count: 11_855), at: 84_687)
            }
            try test.vault.checkpoint()
            hook.stop()
            try file.write([UInt8](repeating: 4, count: 9757), at: 108_359)
            try file.synchronize(dataOnly: false)

            model = Array(model[..<length]) + [UInt8](repeating: 0, count: 118_116 - length)
            model.replaceSubrange(64_462..<83_860, with: [UInt8](repeating: 2, count: 19_398))
            model.replaceSubrange(84_687..<96_542, with: [UInt8](repeating: 3, count: 11_855))
            model.replaceSubrange(108_359..<118_116, with: [UInt8](repeating: 4, count: 9757))
            #expect(try file.contents(200_000) == model, "during flush \(nth)")
            let (vault, root) = try test.afterDeath()
            #expect(try vault.openFile("file", in: root).contents(200_000) == model, "during flush \(nth), after death")
        }
    }

    /// A header that close(2) writes meanwhile is not taken for durable: after a crash the earlier header may be on
    /// disk.
    @Test func aHeaderPlacedMeanwhileNeedNotBeDurable() throws {
        try inEachFlush { (test, hook, nth) in
            let file = try test.create("file")
            try file.write([UInt8](repeating: 1, count: 12 * 4096), at: 0)
            try test.vault.checkpoint()
            try file.write([2], at: 5000)
            let written = Mutex<UInt64>(.max)
            hook.during(nth, of: file) {
                try file.write([UInt8](repeating: 2, count: 5000), at: 12 * 4096)
                try file.persistLength()
                written.withLock { $0 = file.lock.withShared { file.state.durable.placed.generation } }
            }
            try test.vault.checkpoint()
            hook.stop()
            let durable = file.lock.withShared { file.state.durable.flushedGeneration }
            // It is durable if another flush came after it.
            #expect(nth < hook.most || durable < written.withLock { $0 }, "during flush \(nth)")
        }
    }

    /// A second name goes while the folder of the first name is flushed. That flush says nothing of the second name's
    /// folder, so a crash may bring the second name back.
    @Test func aNameThatGoesMeanwhileMayComeBack() throws {
        try inEachFlush { (test, hook, nth) in
            let vault = test.vault
            let (first, second) = (try test.makeDirectory("first"), try test.makeDirectory("second"))
            let file = try test.create("file")
            try file.write([1, 2, 3], at: 0)
            for folder in [first, second] { try vault.link("file", in: test.root, file: file, to: "link", in: folder) }
            try vault.checkpoint()
            try vault.unlink("link", in: first)
            hook.during(nth, of: file) { try vault.unlink("link", in: second) }
            try vault.checkpoint()
            hook.stop()
            #expect(file.header.belongs(at: vault.binding(of: "link", in: second)), "during flush \(nth)")
            try vault.checkpoint()
            #expect(file.header.bindings == [vault.binding(of: "file", in: test.root)], "during flush \(nth)")
        }
    }

    /// A file is written to and synced while it gets another name, or loses one of two. After the daemon's death the
    /// acknowledged bytes are found, under the name that exists.
    @Test(arguments: ["rename", "replace", "unlink"]) func aNameThatChangesMeanwhile(change: String) throws {
        let hook = ActsBeforeNames()
        let test = try TestVault { InterceptingStore($0, hook: hook) }
        let vault = test.vault
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 9000), at: 0)
        if change == "unlink" { try vault.link("file", in: test.root, file: file, to: "other", in: test.root) }
        if change == "replace" { _ = try test.create("other") }
        try vault.checkpoint()
        let isDone = Mutex(false)
        hook.next(of: file) {
            try file.write([UInt8](repeating: 2, count: 9000), at: 0)
            try file.synchronize(dataOnly: true)
            isDone.withLock { $0 = true }
        }
        if change == "unlink" { try vault.unlink("file", in: test.root) } else { try test.rename("file", to: "other") }
        try file.write([3], at: 0)
        try file.synchronize(dataOnly: true)
        let (next, root) = try test.afterDeath()
        let byte: UInt8 = isDone.withLock { $0 } ? 2 : 1
        #expect(try next.openFile("other", in: root).contents(9000) == [3] + [UInt8](repeating: byte, count: 8999))
    }

    /// syncfs(2) while another thread truncates the file and writes to it: the length of the earlier contents is on
    /// disk too.
    @Test func aSyncOfAllWritesLengths() throws {
        try inEachFlush { (test, hook, nth) in
            let file = try test.create("file")
            try file.write([UInt8](repeating: 1, count: 10_000), at: 0)
            hook.during(nth, of: file) {
                try file.truncate(to: 9000)
                try file.write([UInt8](repeating: 2, count: 10_000), at: 12_288)
            }
            try test.vault.synchronize()
            hook.stop()
            let isCurrent = file.lock.withShared { file.state.sync.isHeaderCurrent }
            // The last flush is syncfs(2)'s: what comes after it is not promised.
            #expect(isCurrent || nth == hook.most, "during flush \(nth)")
        }
    }

    /// Two threads sync a directory at once: neither call returns before the new directory in it is on disk.
    @Test func twoSyncADirectory() throws {
        let hook = FlushedInodes()
        let test = try TestVault { InterceptingStore($0, hook: hook) }
        let folder = try test.makeDirectory("folder")
        let inode = try test.vault.status(of: folder).inode
        let flushedBySecond = Mutex<[UInt64]>([])
        hook.beforeTheNext {
            try test.vault.synchronize(test.root)
            flushedBySecond.withLock { $0 = hook.inodes }
        }
        try test.vault.synchronize(test.root)
        #expect(flushedBySecond.withLock { $0 }.contains(inode))
        #expect(hook.inodes.filter { $0 == inode }.count == 2)
        try test.vault.synchronize(test.root)
        #expect(hook.inodes.filter { $0 == inode }.count == 2, "it is not flushed again and again")
    }

    /// A caller with nothing to checkpoint does not wait for a running checkpoint: the checkpoint may wait for that
    /// caller.
    @Test func aCallerWithNothingToCheckpointDoesNotWait() throws {
        let hook = ActsDuringFlushes()
        let test = try TestVault { InterceptingStore($0, hook: hook) }
        let file = try test.create("file")
        try file.write([1], at: 0)
        let isBack = DispatchSemaphore(value: 0)
        hook.during(1, of: file) {
            let vault = test.vault
            try startThread {
                try? vault.checkpoint { [] }
                isBack.signal()
            }
            #expect(isBack.wait(timeout: .now() + .seconds(20)) == .success)
        }
        try test.vault.checkpoint()
        if let failure = hook.failure { throw failure }
        #expect(hook.most > 0)
    }

    /// Random calls, each compared with a model, and more of them at each moment of a checkpoint of the file.
    /// LATCHKEY_SEEDS sets the number of runs.
    @Test func randomOperationsActsDuringFlushes() throws {
        let seeds = ProcessInfo.processInfo.environment["LATCHKEY_SEEDS"].flatMap { UInt64($0) } ?? 12
        for seed in 1...seeds {
            let hook = ActsDuringFlushes()
            let test = try TestVault { InterceptingStore($0, hook: hook) }
            let model = try CheckpointModel(of: test, seed)
            hook.duringFlushes(of: model.file) { for _ in 0..<model.below(4) { try model.change() } }
            do {
                for _ in 0..<150 { try model.step() }
                hook.stop()
                if let failure = hook.failure { throw failure }
                try model.compare()
                try model.file.synchronize(dataOnly: true)
                let (vault, root) = try test.afterDeath()
                try #require(try vault.openFile("file", in: root).contents(200_000) == model.bytes, "after death")
            } catch { Issue.record("seed \(seed): \(error), after \(model.history.suffix(12))") }
        }
    }
}
