import CrashSimulator
import Posix
import Store
import TestStores
import TestSupport
import Testing
import Vault

extension CrashTests {
    /// The backing store is full for a while, in the middle of an operation, and then the power is lost.
    @Suite struct FullDisk {
        private func scene(_ order: SimulatedDisk.Order) throws -> (vault: RecordedVault, faults: FaultPlan) {
            var store: FaultInjectingStore!
            let vault = try RecordedVault(on: order) { recording in
                store = FaultInjectingStore(recording)
                return store
            }
            return (vault, store.faults)
        }

        @Test(arguments: SimulatedDisk.Order.allCases) func inTheMiddle(on order: SimulatedDisk.Order) throws {
            let (vault, faults) = try scene(order)
            var random = SeededRandom(9)
            let folder = try vault.makeDirectory("folder")
            var files = try (0..<3).map { try vault.makeFile(Name(bytes: "f\($0)".utf8)!) }
            for file in files {
                try vault.write(random.bytes(10_000), to: file, at: 0)
                try vault.synchronize(file)
            }
            try vault.synchronize()
            for turn in 0..<40 {
                let kinds: Set<Operation.Kind> = [.write, .allocate, .makeDirectory, .makeSymbolicLink]
                faults.fail(
                    kinds, nth: Int.random(in: 1...6, using: &random), with: .ENOSPC,
                    effect: turn % 2 == 0 ? .half : .none, lasts: true)
                for _ in 0..<4 {
                    let file = files.randomElement(using: &random)!
                    let count = [10, 3000, 9000].randomElement(using: &random)!
                    let length = Int(file.file.length)
                    let offset = Bool.random(using: &random) ? length : Int.random(in: 0...length, using: &random)
                    try vault.tryToWrite(random.bytes(count), to: file, at: offset)
                }
                _ = try? vault.makeDirectory(Name(bytes: "d\(turn)".utf8)!, in: folder)
                if let saved = try? vault.makeFile("saved", in: folder) {
                    try vault.tryToWrite(random.bytes(5000), to: saved, at: 0)
                    if (try? vault.synchronize(saved)) != nil {
                        try? vault.rename("saved", of: saved, in: folder, to: "f0", in: vault.root)
                    }
                    if try !vault.names(in: folder).contains("saved") {
                        files[0] = saved
                    } else {
                        try? vault.unlink("saved", of: saved.inode, in: folder)
                    }
                }
                faults.clear()
                for file in files where Bool.random(using: &random) { try vault.synchronize(file) }
                if turn % 3 == 0 { try vault.synchronize() }
                if turn % 5 == 0 { try vault.synchronize(folder) }
            }
            #expect(faults.injected > 40)
            try expectPromiseHolds("a full disk in the middle", vault)
        }

        /// A much larger sync finds no room to confirm its bytes: what was synced before is still in the journal.
        @Test(arguments: SimulatedDisk.Order.allCases) func aConfirmationThatFails(on order: SimulatedDisk.Order) throws
        {
            let (vault, faults) = try scene(order)
            var random = SeededRandom(10)
            let other = try vault.makeFile("other")
            try vault.write(random.bytes(200_000), to: other, at: 0)
            try vault.synchronizeAll()
            let file = try vault.makeFile("file")
            try vault.write(random.bytes(4096), to: file, at: 0)
            try vault.synchronize(file, dataOnly: true)
            try vault.synchronize()
            try vault.append(random.bytes(300_000), to: file)
            faults.fail(.write, with: .ENOSPC)
            #expect(throws: VaultError.system(.ENOSPC)) { try vault.synchronize(file, dataOnly: true) }
            // The journal is reused.
            for _ in 0..<16 {
                try vault.write(random.bytes(200_000), to: other, at: 0)
                try vault.synchronize(other, dataOnly: true)
            }
            try expectPromiseHolds("a confirmation that a full disk stops", vault, states: 90)
        }
    }
}
