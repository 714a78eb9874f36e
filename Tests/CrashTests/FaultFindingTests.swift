import Glibc
import Posix
import Store
import TestStores
import TestSupport
import Testing

@testable import CrashSimulator

extension CrashTests {
    /// The simulator can be trusted because it finds faults where there are some.
    @Suite struct FaultFinding {
        /// Overwrites and appends with fsync, and a directory or two, as gocryptfs writes them.
        @Test(arguments: SimulatedDisk.Order.allCases) func inGocryptfssWrites(order: SimulatedDisk.Order) throws {
            let folder = try StateFolder()
            let store = try RecordingStore(DirectoryStore(path: Path(folder.path)))
            let pattern = try GocryptfsPattern()
            var random = SeededRandom(8)
            let file = try store.open("file", in: store.root, O_RDWR | O_CREAT, mode: 0o600)
            var history = FileHistory()
            var histories = [(records: 0, history: history)]
            func write(_ bytes: [UInt8], at offset: Int) throws {
                let begin = store.recorder.count
                try pattern.write(bytes, to: file, at: offset, in: store)
                history.write(bytes, at: offset)
                histories.append((begin + 1, history))
            }
            for step in 0..<100 {
                if step % 10 == 0 { try pattern.makeDirectory(Name(bytes: "d\(step)".utf8)!, in: store) }
                let bytes = random.bytes([1, 100, 4096, 10_000].randomElement(using: &random)!)
                let last = history.current.count
                try write(bytes, at: step % 3 == 0 ? last : Int.random(in: 0...last, using: &random))
                try store.synchronize(file, dataOnly: true)
                history.synchronize()
                histories.append((store.recorder.count, history))
            }
            let simulation = Simulation("gocryptfs", order, budget: budget(420))
            let report = try simulation.run(store.recorder.records, found: store.recorder.foundCount) { state, crash in
                let promised = histories.last { $0.records <= crash }!.history
                return try Self.check(pattern, try DirectoryStore(path: Path(state.path)), promised)
            }
            print("crash: gocryptfs's write pattern, \(order.rawValue): \(report)")
            // Torn blocks and torn ends of files: EIO. Directories without their IV.
            #expect(report.counts[.unreadable, default: 0] > 0)
            #expect(report.counts[.directory, default: 0] > 0)
        }

        private static func check(
            _ pattern: GocryptfsPattern, _ store: DirectoryStore, _ promised: FileHistory
        ) throws -> [Violation] {
            var violations: [Violation] = []
            for entry in try store.entries(of: store.root) {
                if entry.kind == .directory {
                    if try pattern.opensDirectory(entry.name, in: store) { continue }
                    violations.append(Violation(.directory, "\(entry.name) has no IV"))
                    continue
                }
                do {
                    let bytes = try pattern.contents(of: store.open(entry.name, in: store.root, O_RDONLY), in: store)
                    if let flaw = promised.flaw(in: bytes) { violations.append(Violation(.contents, flaw)) }
                } catch let error as Errno where error == .EIO {
                    violations.append(Violation(.unreadable, "EIO"))
                }
            }
            return violations
        }

        /// The vault's own writes, on a disk that lies about flushes.
        @Test(arguments: SimulatedDisk.Order.allCases) func whereFlushesDoNothing(order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault()
            let file = try vault.makeFile("file")
            try vault.synchronize(file)
            try vault.synchronize()
            for step in 0..<20 {
                try vault.write([UInt8](repeating: UInt8(step), count: 3000), to: file, at: step * 100)
                try vault.synchronize(file)
                let saved = try vault.makeFile("saved")
                try vault.write([UInt8(step)], to: saved, at: 0)
                try vault.synchronize(saved)
                try vault.rename("saved", of: saved, to: "kept")
                try vault.synchronize()
            }
            var simulation = Simulation("flushes off", order, budget: budget(360))
            simulation.ignoresFlushes = true
            let report = try simulation.run(vault)
            print("crash: flushes off, \(order.rawValue): \(report)")
            #expect(report.badStates > report.states / 2)
            #expect(report.counts[.contents, default: 0] + report.counts[.unreadable, default: 0] > 0)
            #expect(report.counts[.names, default: 0] > 0)
        }

        /// The vault's own writes, with the journal removed before the vault is opened.
        @Test(arguments: SimulatedDisk.Order.allCases) func withoutTheJournal(order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault()
            let file = try vault.makeFile("file")
            try vault.write([UInt8](repeating: 1, count: 20_000), to: file, at: 0)
            try vault.synchronizeAll()
            for step in 1...20 {
                try vault.write([UInt8](repeating: UInt8(step), count: 5000), to: file, at: step * 600)
                try vault.synchronize(file, dataOnly: true)
                // Torn blocks in place.
                if step % 5 == 0 { try vault.synchronizeAll() }
            }
            let check = LedgerCheck(vault.keys, vault.promise, usesStates: false)
            let report = try Simulation("journal off", order, budget: budget(240)).run(
                vault.records, found: vault.found
            ) { folder, crash in
                unsafe unlink(folder.path + "/lk.journal")
                return check.violations(in: folder, after: crash)
            }
            print("crash: journal off, \(order.rawValue): \(report)")
            #expect(report.counts[.unreadable, default: 0] > 0)
            #expect(report.counts[.contents, default: 0] > 0)
        }
    }
}
