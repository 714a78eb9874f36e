import Posix
import TestSupport
import Testing

@testable import CrashSimulator

extension CrashTests {
    /// The first sync of a new file takes one flush: bytes that no header has confirmed yet are as safe as confirmed
    /// ones.
    @Suite struct FirstSyncs {
        /// Each file is synced once, whole, and then overwritten, truncated, grown, renamed and checkpointed.
        @Test(arguments: [11, 12], SimulatedDisk.Order.allCases)
        func laterChanges(seed: UInt64, on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(seed)
            for number in 0..<24 {
                let name = Name(bytes: "file \(number)".utf8)!
                let file = try vault.makeFile(name)
                let count = [1, 100, 4096, 4097, 20_000].randomElement(using: &random)!
                try vault.write(random.bytes(count), to: file, at: 0)
                try vault.synchronize(file)
                var current = name
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let length = Int(file.file.length)
                    switch Int.random(in: 0..<12, using: &random) {
                    case 0..<4:
                        let count = [1, 700, 4096, 9000].randomElement(using: &random)!
                        try vault.write(random.bytes(count), to: file, at: Int.random(in: 0...length, using: &random))
                    case 4: try vault.append(random.bytes(300), to: file)
                    case 5: try vault.truncate(file, to: Int.random(in: 0...length + 5000, using: &random))
                    case 6:
                        let begin = Int.random(in: 0...max(0, length - 1), using: &random)
                        try vault.punch(begin..<begin + 6000, in: file)
                    case 7:
                        let next = Name(bytes: "\(current) again".utf8)!
                        try vault.rename(current, of: file, to: next)
                        current = next
                    case 8:
                        // As an editor saves: another file has that name already.
                        let next = Name(bytes: "saved".utf8)!
                        guard current != next else { continue }
                        try vault.rename(current, of: file, to: next)
                        current = next
                    case 9: try vault.vault.checkpoint()
                    default: try vault.synchronize(file, dataOnly: Bool.random(using: &random))
                    }
                }
            }
            try expectPromiseHolds("new files, synced and changed, seed \(seed)", vault, states: 240)
        }

        /// The next session's overwrites are as safe, though no header that confirms the first sync may have reached
        /// the disk.
        @Test(arguments: SimulatedDisk.Order.allCases) func crashTwice(order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(13)
            for (number, count) in [1, 4096, 9000, 20_000].enumerated() {
                let file = try vault.makeFile(Name(bytes: "file \(number)".utf8)!)
                try vault.write(random.bytes(count), to: file, at: 0)
                try vault.synchronize(file)
            }
            let simulation = Simulation("first syncs, and another crash", order, budget: budget(60))
            let (first, later) = try simulation.run(vault, crashingRecoveries: 1, states: 20)
            expectNone(first, "first syncs", order)
            expectNone(later, "first syncs, and another crash", order)
        }
    }
}
