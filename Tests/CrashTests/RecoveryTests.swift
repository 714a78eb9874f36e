import Posix
import TestSupport
import Testing

@testable import CrashSimulator

extension CrashTests {
    /// Crashes while a vault is opened after a crash, and while it is closed.
    @Suite struct Recoveries {
        @Test(arguments: SimulatedDisk.Order.allCases) func crashAgainAndAgain(order: SimulatedDisk.Order) throws {
            let vault = try BusyVault(on: order, acts: 120, seed: 23).recorded
            let simulation = Simulation("crashes of the replay", order, budget: max(1, budget(240) / 20))
            let (first, later) = try simulation.run(vault, crashingRecoveries: 2, states: 6)
            expectNone(first, "a vault in use", order)
            expectNone(later, "crashes of the replay, and of the one after it", order)
            #expect(later.states > 5 * first.states)
        }

        /// Truncated bytes do not come back while the journal is replayed, and stat(2) does not show the old length.
        @Test(arguments: SimulatedDisk.Order.allCases) func aTruncatedFile(order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            let file = try vault.makeFile("a")
            try vault.write([UInt8](repeating: 1, count: 100), to: file, at: 0)
            try vault.synchronizeAll()
            try vault.truncate(file, to: 40)
            try vault.synchronize(file, dataOnly: true)
            let simulation = Simulation("crashes of the replay of a truncate", order, budget: budget(40))
            let (first, later) = try simulation.run(vault, crashingRecoveries: 1, states: 60)
            expectNone(first, "a truncate", order)
            expectNone(later, "crashes of the replay of a truncate", order)
        }

        /// Sessions that end cleanly, or crash while they end or begin.
        @Test(arguments: SimulatedDisk.Order.allCases) func crashWhileAVaultIsClosed(on order: SimulatedDisk.Order)
            throws
        {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(24)
            for session in 0..<8 {
                let names = (0..<4).map { Name(bytes: "f\($0)".utf8)! }
                for (index, name) in names.enumerated() {
                    let file = try session == 0 ? vault.makeFile(name) : vault.openFile(name)
                    for _ in 0..<3 {
                        let length = Int(file.file.length)
                        try vault.write(
                            random.bytes(Int.random(in: 1...6000, using: &random)), to: file,
                            at: Int.random(in: 0...length, using: &random))
                        if Bool.random(using: &random) { try vault.synchronize(file, dataOnly: true) }
                    }
                    if index == session % 4 { try vault.truncate(file, to: Int.random(in: 0...9000, using: &random)) }
                }
                // Names that were never synced.
                let folder = try vault.makeDirectory(Name(bytes: "d\(session)".utf8)!)
                let file = try vault.makeFile("inside", in: folder)
                if session % 2 == 0 { try vault.write(random.bytes(100), to: file, at: 0) }
                if session % 3 == 0 { try vault.synchronize() }
                if session % 4 == 1 {
                    try vault.rename(
                        "inside", of: file, in: folder, to: Name(bytes: "out\(session)".utf8)!, in: vault.root)
                }
                try vault.close()
                try vault.reopen()
            }
            try vault.close()
            try expectPromiseHolds("sessions that end", vault, states: 120)
        }
    }
}
