import Format
import class Foundation.ProcessInfo
import Posix
import Store
import Synchronization
import Testing

@testable import Vault

/// What users do to a file while the vault settles it: the file is not locked while it is flushed.
@Suite struct SettlingTests {
    /// Does something right after a flush during which the file is not locked, where other threads would do it.
    final class Meanwhile: Interceptor {
        private struct State {
            var file: File?
            var act: (@Sendable () throws -> Void)?
            var isActing = false
            var flushes = 0
            var failure: (any Error)?
        }

        private let state = Mutex(State())

        var flushes: Int { state.withLock { $0.flushes } }
        /// What went wrong in there.
        var failure: (any Error)? { state.withLock { $0.failure } }

        /// After each flush from now on.
        func duringFlushes(of file: File, _ act: @escaping @Sendable () throws -> Void) {
            state.withLock { ($0.file, $0.act, $0.flushes) = (file, act, 0) }
        }

        func stop() { state.withLock { ($0.file, $0.act) = (nil, nil) } }

        /// After the `nth` flush from now on, counted from 1.
        func during(_ nth: Int, of file: File, _ act: @escaping @Sendable () throws -> Void) {
            duringFlushes(of: file) { if self.flushes == nth { try act() } }
        }

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            let result = try proceed()
            guard operation.kind == .synchronize || operation.kind == .synchronizeAll else { return result }
            let (file, isActing) = state.withLock { ($0.file, $0.isActing) }
            guard let file, !isActing, file.lock.tryLockExclusive() else { return result }
            file.lock.unlockExclusive()
            let act = state.withLock { state in
                state.flushes += 1
                state.isActing = true
                return state.act
            }
            do { try act?() } catch { state.withLock { $0.failure = $0.failure ?? error } }
            state.withLock { $0.isActing = false }
            return result
        }
    }

    /// A file that was cut is settled; in each moment of that it grows again, and is written to once more afterwards.
    @Test(arguments: [4148, 0, 40_960]) func whatGrowsMeanwhileReadsBack(cut: Int) throws {
        var (nth, flushes) = (0, 2)
        while nth < flushes {
            nth += 1
            let hook = Meanwhile()
            let test = try TestVault { InterceptingStore($0, hook: hook) }
            let file = try test.create("file")
            var model = [UInt8](repeating: 1, count: 129_811)
            try file.write(model, at: 0)
            try test.vault.settle()
            try file.truncate(to: UInt64(cut))
            hook.during(nth, of: file) {
                try file.truncate(to: 89_740)
                try file.write([UInt8](repeating: 2, count: 19_398), at: 64_462)
                try file.write([UInt8](repeating: 3, count: 11_855), at: 84_687)
            }
            try test.vault.settle()
            flushes = max(flushes, hook.flushes)
            hook.stop()
            if let failure = hook.failure { throw failure }
            try file.write([UInt8](repeating: 4, count: 9757), at: 108_359)
            try file.synchronize(dataOnly: false)

            model = Array(model[..<cut]) + [UInt8](repeating: 0, count: 118_116 - cut)
            model.replaceSubrange(64_462..<83_860, with: [UInt8](repeating: 2, count: 19_398))
            model.replaceSubrange(84_687..<96_542, with: [UInt8](repeating: 3, count: 11_855))
            model.replaceSubrange(108_359..<118_116, with: [UInt8](repeating: 4, count: 9757))
            #expect(try file.contents(200_000) == model, "during flush \(nth)")
            let (vault, root) = try test.afterDeath()
            #expect(try vault.openFile("file", in: root).contents(200_000) == model, "during flush \(nth), after death")
        }
    }

    /// A header that close(2) writes meanwhile is not taken for durable: a cut may find the one before.
    @Test func aHeaderPlacedMeanwhileNeedNotBeDurable() throws {
        var (nth, flushes) = (0, 2)
        while nth < flushes {
            nth += 1
            let hook = Meanwhile()
            let test = try TestVault { InterceptingStore($0, hook: hook) }
            let file = try test.create("file")
            try file.write([UInt8](repeating: 1, count: 12 * 4096), at: 0)
            try test.vault.settle()
            try file.write([2], at: 5000)
            let written = Mutex<UInt64>(.max)
            hook.during(nth, of: file) {
                try file.write([UInt8](repeating: 2, count: 5000), at: 12 * 4096)
                try file.persistLength()
                written.withLock { $0 = file.lock.withShared { file.state.unsettled.placedGeneration } }
            }
            try test.vault.settle()
            flushes = max(flushes, hook.flushes)
            if let failure = hook.failure { throw failure }
            let durable = file.lock.withShared { file.state.unsettled.durableGeneration }
            // It is durable if another flush came after it.
            #expect(nth < flushes || durable < written.withLock { $0 }, "during flush \(nth)")
        }
    }

    /// A second name goes while the folder of the first one is flushed: that says nothing of the second one's folder, and a
    /// cut may bring the name back.
    @Test func aNameThatGoesMeanwhileMayComeBack() throws {
        var (nth, flushes) = (0, 2)
        while nth < flushes {
            nth += 1
            let hook = Meanwhile()
            let test = try TestVault { InterceptingStore($0, hook: hook) }
            let vault = test.vault
            let (first, second) = (try test.makeDirectory("first"), try test.makeDirectory("second"))
            let file = try test.create("file")
            try file.write([1, 2, 3], at: 0)
            for folder in [first, second] { try vault.link("file", in: test.root, file: file, to: "link", in: folder) }
            try vault.settle()
            try vault.unlink("link", in: first)
            hook.during(nth, of: file) { try vault.unlink("link", in: second) }
            try vault.settle()
            flushes = max(flushes, hook.flushes)
            hook.stop()
            if let failure = hook.failure { throw failure }
            #expect(file.header.belongs(at: vault.place(of: "link", in: second)), "during flush \(nth)")
            try vault.settle()
            #expect(file.header.places == [vault.place(of: "file", in: test.root)], "during flush \(nth)")
        }
    }

    /// Does something before a name goes, if the file is not locked then.
    private final class BeforeNames: Interceptor {
        private let act = Mutex<(file: File, run: @Sendable () throws -> Void)?>(nil)

        func next(of file: File, _ run: @escaping @Sendable () throws -> Void) { act.withLock { $0 = (file, run) } }

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            guard operation.kind == .rename || operation.kind == .unlink else { return try proceed() }
            let act = act.withLock { act in
                defer { act = nil }
                return act
            }
            if let act, act.file.lock.tryLockExclusive() {
                act.file.lock.unlockExclusive()
                do { try act.run() } catch { Issue.record(error) }
            }
            return try proceed()
        }
    }

    /// A file is written to and synced while it gets another name, or loses one of two: what was confirmed is found after
    /// the daemon's death, under the name that there is.
    @Test(arguments: ["rename", "replace", "unlink"]) func aNameThatChangesMeanwhile(change: String) throws {
        let hook = BeforeNames()
        let test = try TestVault { InterceptingStore($0, hook: hook) }
        let vault = test.vault
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 9000), at: 0)
        if change == "unlink" { try vault.link("file", in: test.root, file: file, to: "other", in: test.root) }
        if change == "replace" { _ = try test.create("other") }
        try vault.settle()
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
        let rest: UInt8 = isDone.withLock { $0 } ? 2 : 1
        #expect(try next.openFile("other", in: root).contents(9000) == [3] + [UInt8](repeating: rest, count: 8999))
    }

    /// syncfs(2) while somebody else cuts the file and writes to it: the length of what was there before is on disk too.
    @Test func aSyncOfAllWritesLengths() throws {
        var (nth, flushes) = (0, 2)
        while nth < flushes {
            nth += 1
            let hook = Meanwhile()
            let test = try TestVault { InterceptingStore($0, hook: hook) }
            let file = try test.create("file")
            try file.write([UInt8](repeating: 1, count: 10_000), at: 0)
            hook.during(nth, of: file) {
                try file.truncate(to: 9000)
                try file.write([UInt8](repeating: 2, count: 10_000), at: 12_288)
            }
            try test.vault.synchronize()
            flushes = max(flushes, hook.flushes)
            hook.stop()
            if let failure = hook.failure { throw failure }
            let isCurrent = file.lock.withShared { file.state.unsettled.isHeaderCurrent }
            // The last flush is that of all: what comes after it is not asked for.
            #expect(isCurrent || nth == flushes, "during flush \(nth)")
        }
    }

    /// Which inodes are flushed, and what comes before the first flush is done.
    private final class Flushes: Interceptor {
        private struct State {
            var inodes: [UInt64] = []
            var act: (@Sendable () throws -> Void)?
        }

        private let state = Mutex(State())

        var inodes: [UInt64] { state.withLock { $0.inodes } }

        func beforeTheNext(_ act: @escaping @Sendable () throws -> Void) {
            state.withLock { ($0.inodes, $0.act) = ([], act) }
        }

        func intercept<Result>(
            _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
        ) throws(Errno) -> Result {
            guard case .change(.synchronize(let file, _)) = operation else { return try proceed() }
            let act = state.withLock { state in
                defer { state.act = nil }
                return state.act
            }
            do { try act?() } catch { Issue.record(error) }
            let result = try proceed()
            let inode = try store.status(of: file).inode
            state.withLock { $0.inodes.append(inode) }
            return result
        }
    }

    /// Two sync a directory at once: neither is told that it is done before the new directory in it is on disk.
    @Test func twoSyncADirectory() throws {
        let hook = Flushes()
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

    /// Calls chosen by chance, each compared with a model, and more of them in each moment in which the file is settled.
    /// LATCHKEY_SEEDS says how many runs.
    @Test func randomOperationsMeanwhile() throws {
        let seeds = ProcessInfo.processInfo.environment["LATCHKEY_SEEDS"].flatMap { UInt64($0) } ?? 12
        for seed in 1...seeds {
            let hook = Meanwhile()
            let test = try TestVault { InterceptingStore($0, hook: hook) }
            let model = try Model(of: test, seed)
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

    /// A file, and what must be in it.
    private final class Model: @unchecked Sendable {  // unchecked: one thread uses it
        let file: File
        private let vault: Vault
        private(set) var bytes: [UInt8] = []
        private(set) var history: [String] = []
        private var random: UInt64

        struct OtherBytes: Error {}

        init(of test: TestVault, _ seed: UInt64) throws {
            file = try test.create("file")
            vault = test.vault
            random = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        }

        func below(_ bound: Int) -> Int {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int(random % UInt64(bound))
        }

        func compare() throws {
            if try file.contents(200_000) != bytes { throw OtherBytes() }
        }

        func step() throws {
            switch below(10) {
            case 0...2:
                history.append("settle")
                try vault.settle()
            case 3, 4:
                let isDataOnly = below(3) > 0
                history.append(isDataOnly ? "fdatasync" : "fsync")
                try file.synchronize(dataOnly: isDataOnly)
            case 5: try compare()
            default: try change()
            }
        }

        func change() throws {
            let offset = below(3) == 0 ? below(30) * 4096 : below(130_000)
            switch below(8) {
            case 0...4:
                let count = below(3) == 0 ? 4096 * (1 + below(4)) : 1 + below(20_000)
                history.append("write \(offset) \(count)")
                let patch = [UInt8](repeating: UInt8(truncatingIfNeeded: history.count), count: count)
                try file.write(patch, at: UInt64(offset))
                bytes += [UInt8](repeating: 0, count: max(0, offset + count - bytes.count))
                bytes.replaceSubrange(offset..<offset + count, with: patch)
            case 5, 6:
                history.append("truncate \(offset)")
                try file.truncate(to: UInt64(offset))
                bytes = Array(bytes.prefix(offset)) + [UInt8](repeating: 0, count: max(0, offset - bytes.count))
            default:
                history.append("close")
                try file.persistLength()
            }
        }
    }
}
