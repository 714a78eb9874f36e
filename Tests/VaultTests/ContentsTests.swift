import Format
import Posix
import Store
import TestStores
import TestSupport
import Testing

@testable import Vault

@Suite struct ContentsTests {
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func randomWritesAndTruncatesMatchAModel(seed: UInt64) throws {
        let test = try TestVault()
        var file = try test.create("file")
        var model: [UInt8] = []
        var random = SeededRandom(seed)
        for step in 0..<300 {
            let offset = Int.random(in: 0...40_000, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let count = [1, 100, 4095, 4096, 4097, 9000].randomElement(using: &random)!
                let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                try file.write(bytes, at: UInt64(offset))
                if model.count < offset + count {
                    model += [UInt8](repeating: 0, count: offset + count - model.count)
                }
                model.replaceSubrange(offset..<offset + count, with: bytes)
            case 6..<8:
                try file.truncate(to: UInt64(offset))
                model = Array(model.prefix(offset))
                model += [UInt8](repeating: 0, count: offset - model.count)
            case 8:
                try file.synchronize(dataOnly: true)
            default:
                try file.persistLength()
                file = try test.vault.openFile("file", in: test.root)
            }
            #expect(file.length == model.count)
            if step % 10 == 0 {
                #expect(try file.contents(model.count + 10) == model, "seed \(seed), step \(step)")
            }
        }
        #expect(try file.contents(model.count + 10) == model)
    }

    @Test func everyLengthAroundABorder() throws {
        let test = try TestVault()
        let all = (0..<8300).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for length in [0, 1, 4095, 4096, 4097, 8191, 8192, 8193] {
            let file = try test.create(Name(bytes: "f\(length)".utf8)!)
            try file.write(Array(all.prefix(length)), at: 0)
            try file.persistLength()
            let again = try test.vault.openFile(Name(bytes: "f\(length)".utf8)!, in: test.root)
            #expect(try again.contents(9000) == Array(all.prefix(length)))
            #expect(
                try test.store.status(of: again.descriptor).size
                    == Int64(BlockGeometry.backingSize(forLength: UInt64(length))))
        }
    }

    @Test func aFarWriteLeavesAHoleOfZeros() throws {
        let test = try TestVault()
        let file = try test.create("sparse")
        try file.write([1, 2, 3], at: 0)
        try file.write([9], at: 1 << 40)
        try file.persistLength()
        let again = try test.vault.openFile("sparse", in: test.root)
        #expect(again.length == 1 << 40 + 1)
        #expect(try again.contents(5) == [1, 2, 3, 0, 0])
        #expect(try again.contents(4, at: 1 << 39) == [0, 0, 0, 0])
        #expect(try again.contents(4, at: (1 << 40) - 2) == [0, 0, 9])
        #expect(try test.store.status(of: again.descriptor).blocks < 200)
        try again.write([5], at: 1 << 39)
        #expect(try again.contents(3, at: (1 << 39) - 1) == [0, 5, 0])
    }

    /// A full disk in the middle of a write that grows the last block must not lose the bytes in that block.
    @Test(arguments: [FaultPlan.Effect.none, .half]) func aFullDiskLeavesWhatWasThere(effect: FaultPlan.Effect) throws {
        var faults: FaultInjectingStore!
        let test = try TestVault { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let file = try test.create("file")
        let saved = [UInt8](repeating: 7, count: 5000)
        try file.write(saved, at: 0)
        try file.synchronize(dataOnly: false)
        faults.faults.fail(.write, nth: 1, with: .ENOSPC, effect: effect)
        #expect(throws: VaultError.system(.ENOSPC)) {
            try file.write([UInt8](repeating: 8, count: 20_000), at: 5000)
        }
        faults.faults.clear()
        #expect(try file.contents(30_000) == saved)
        let again = try test.vault.openFile("file", in: test.root)
        #expect(try again.contents(30_000) == saved)
        try again.write([1], at: 5000)
        #expect(try again.contents(30_000) == saved + [1])
    }

    /// Also when the write replaces all bytes of that block.
    @Test(arguments: [0, 4096] as [UInt64]) func aFullDiskLeavesABlockThatWasToBeReplaced(offset: UInt64) throws {
        var faults: FaultInjectingStore!
        let test = try TestVault { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let file = try test.create("file")
        try file.write([UInt8](repeating: 7, count: 5000), at: 0)
        try file.synchronize(dataOnly: false)
        faults.faults.fail(.write, nth: 1, with: .ENOSPC, effect: .half)
        #expect(throws: VaultError.system(.ENOSPC)) {
            try file.write([UInt8](repeating: 8, count: 40_000), at: offset)
        }
        faults.faults.clear()
        let contents = try file.contents(50_000)
        #expect(contents.count == 5000)
        #expect(contents.suffix(904) == [UInt8](repeating: 7, count: 904)[...])
    }

    /// A write or a truncate beyond the backing store's limit changes nothing.
    @Test func anExtensionThatFailsLeavesTheLength() throws {
        var faults: FaultInjectingStore!
        let test = try TestVault { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        faults.faults.fail(.truncate, nth: 1, with: .EFBIG)
        #expect(throws: VaultError.system(.EFBIG)) { try file.write([4], at: 1 << 40) }
        #expect(try file.contents(5000) == [1, 2, 3])
        try file.persistLength()
        #expect(try test.vault.openFile("file", in: test.root).contents(5000) == [1, 2, 3])
    }

    @Test func aStaleTailIsNoPartOfTheFile() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 6000), at: 0)
        try file.persistLength()
        // Written, but neither synced nor closed: a crash loses it.
        try file.write([UInt8](repeating: 2, count: 6000), at: 6000)
        let (vault, root) = try test.afterDeath()
        let again = try vault.openFile("file", in: root)
        #expect(again.length == 6000)
        #expect(try again.contents(20_000) == [UInt8](repeating: 1, count: 6000))
        try again.truncate(to: 12_000)
        #expect(try again.contents(100, at: 6000) == [UInt8](repeating: 0, count: 100))
    }

    @Test func aDroppedKeyComesBackFromTheRing() throws {
        let test = try TestVault()
        let file = try test.create("file", .complete)
        try file.write([1, 2, 3], at: 0)
        file.dropKey()
        #expect(!file.hasKey)
        #expect(try file.contents(3) == [1, 2, 3])
        test.ring.wipe([.complete])
        #expect(try file.contents(3) == [1, 2, 3])
        file.dropKey()
        #expect(throws: VaultError.locked) { try file.contents(3) }
        #expect(throws: VaultError.locked) { try file.write([1], at: 0) }
        #expect(throws: VaultError.locked) { try file.truncate(to: 0) }
        #expect(file.length == 3)
        try file.synchronize(dataOnly: false)
    }

    /// The class may change while a request waits for the file's lock: the gate that it has passed is the wrong one.
    @Test func aRequestOfAnotherClassChangesNothing() throws {
        let test = try TestVault()
        defer { test.vault.abandon() }
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        let before = file.protectionClass
        try file.setClass(.none)
        var buffer: [UInt8] = [9, 9, 9]
        var elements = buffer.mutableSpan
        var span = unsafe elements.mutableBytes
        #expect(try file.read(into: &span, at: 0, admittedTo: before) == nil)
        let bytes: [UInt8] = [4, 5, 6]
        #expect(try unsafe !file.write(bytes.span.bytes, at: 0, admittedTo: before))
        #expect(buffer == [9, 9, 9])
        #expect(try file.contents(4) == [1, 2, 3])
        #expect(try unsafe file.write(bytes.span.bytes, at: 0, admittedTo: ProtectionClass.none))
        #expect(try file.contents(4) == [4, 5, 6])
    }
}
