import CrashSimulator
import Format
import Posix
import TestSupport
import Testing

extension CrashTests {
    /// Files are written to and synced.
    @Suite struct Contents {
        @Test(arguments: SimulatedDisk.Order.allCases) func appends(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            let file = try vault.makeFile("log")
            try vault.synchronize()
            var random = SeededRandom(1)
            for _ in 0..<10_000 {
                try vault.append(random.bytes(Int.random(in: 1...120, using: &random)), to: file)
                try vault.synchronize(file, dataOnly: true)
            }
            try expectPromiseHolds("10,000 appends with fsync", vault)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func overwrites(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(2)
            let file = try vault.makeFile("database")
            try vault.write(random.bytes(100_000), to: file, at: 0)
            try vault.synchronize(file)
            try vault.synchronize()
            for step in 0..<400 {
                let count = [1, 100, 512, 4096, 5000, 20_000].randomElement(using: &random)!
                try vault.write(
                    random.bytes(count), to: file, at: Int.random(in: 0...100_000 - count, using: &random))
                if step % 3 != 0 { try vault.synchronize(file, dataOnly: true) }
            }
            try expectPromiseHolds("random overwrites with fsync", vault)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func truncates(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(3)
            let contents = random.bytes(13_000)
            let file = try vault.makeFile("file")
            for length in Array(4090...4102) + Array(8186...8200) + [0, 1, 511, 512, 513, 4064, 4065, 12_288, 12_999] {
                try vault.write(contents, to: file, at: 0)
                try vault.synchronize(file)
                try vault.synchronize()
                try vault.truncate(file, to: length)
                if length % 2 == 0 { try vault.synchronize(file) }
                try vault.append([1, 2, 3], to: file)
                if length % 3 == 0 { try vault.synchronize(file, dataOnly: true) }
                try vault.truncate(file, to: length + 5000)
            }
            try expectPromiseHolds("truncates around block borders", vault)
        }

        /// Once a sync has confirmed a truncation, the truncated bytes do not come back behind a new length, though the
        /// disk may still have them.
        @Test(arguments: SimulatedDisk.Order.allCases) func truncatedBytesStayAway(on order: SimulatedDisk.Order) throws
        {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(9)
            let file = try vault.makeFile("file")
            try vault.write(random.bytes(100), to: file, at: 0)
            try vault.synchronize(file)
            try vault.synchronize()
            for length in [8192, 9000, 16_000, 20_000] {
                // Not synced, so the journal does not protect it.
                try vault.write(random.bytes(4096 * 3), to: file, at: 4096)
                try vault.truncate(file, to: 40)
                try vault.synchronize(file, dataOnly: true)
                try vault.truncate(file, to: length)
            }
            try expectPromiseHolds("truncates of unsynced data", vault, states: 1200)
        }

        /// Files that are never synced, among others that are.
        @Test(arguments: SimulatedDisk.Order.allCases) func anything(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(4)
            let names = (0..<6).map { Name(bytes: "f\($0)".utf8)! }
            for name in names { _ = try vault.makeFile(name) }
            var opened: [Name: RecordedVault.OpenFile] = [:]
            for _ in 0..<400 {
                let name = names.randomElement(using: &random)!
                let file = try opened[name] ?? vault.openFile(name)
                opened[name] = file
                switch Int.random(in: 0..<16, using: &random) {
                case 0..<5:
                    let count = [1, 100, 4096, 9000].randomElement(using: &random)!
                    try vault.write(random.bytes(count), to: file, at: Int.random(in: 0...20_000, using: &random))
                case 5: try vault.truncate(file, to: Int.random(in: 0...20_000, using: &random))
                case 6: try vault.append(random.bytes(300), to: file)
                case 7: try vault.synchronize()
                // Both write the header, when there is nothing else to write.
                case 8, 9: _ = try file.file.status()
                case 10: try vault.setClass(ProtectionClass.allCases.randomElement(using: &random)!, of: file)
                case 11: try file.file.setTimes(accessed: .keep, modified: .now)
                case 12:
                    try vault.vault.checkpoint()
                    opened = [:]
                case 13: opened[name] = nil
                default: try vault.synchronize(file, dataOnly: Bool.random(using: &random))
                }
            }
            try expectPromiseHolds("writes, truncates, classes and syncs of six files", vault)
        }

        /// Holes in durable and in pending contents, overwritten, truncated and synced.
        @Test(arguments: [6, 7], SimulatedDisk.Order.allCases)
        func holes(seed: UInt64, on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(seed)
            let file = try vault.makeFile("file")
            try vault.write(random.bytes(60_000), to: file, at: 0)
            if seed == 6 { try vault.synchronizeAll() }
            for _ in 0..<120 {
                let length = Int(file.file.length)
                let offset = Int.random(in: 0...max(length, 1), using: &random)
                switch Int.random(in: 0..<14, using: &random) {
                case 0..<5: try vault.punch(offset..<offset + Int.random(in: 1...25_000, using: &random), in: file)
                case 5: try vault.punch(offset / 4096 * 4096..<max(length, offset) + 4096, in: file)
                case 6..<9:
                    try vault.write(
                        random.bytes([10, 4096, 9000].randomElement(using: &random)!), to: file, at: offset)
                case 9: try vault.truncate(file, to: Int.random(in: 0...80_000, using: &random))
                case 10: try vault.vault.checkpoint()
                case 11: try vault.synchronize()
                default: try vault.synchronize(file, dataOnly: Bool.random(using: &random))
                }
            }
            try expectPromiseHolds("holes, seed \(seed)", vault)
        }

        /// Larger than what the journal alone may hold of a file.
        @Test(arguments: SimulatedDisk.Order.allCases) func aLargeHole(on order: SimulatedDisk.Order) throws {
            let vault = try RecordedVault(on: order)
            var random = SeededRandom(8)
            let file = try vault.makeFile("file")
            try vault.write(random.bytes(600_000), to: file, at: 0)
            try vault.synchronize(file)
            try vault.punch(5000..<500_000, in: file)
            try vault.write(random.bytes(9000), to: file, at: 100_000)
            try vault.synchronize(file, dataOnly: true)
            try vault.punch(90_000..<600_000, in: file)
            try vault.append(random.bytes(100), to: file)
            try vault.synchronize(file)
            try expectPromiseHolds("a large hole", vault, states: 120)
        }
    }
}
