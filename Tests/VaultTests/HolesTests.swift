import Format
import Posix
import TestStores
import TestSupport
import Testing
import Writeback

@testable import Vault

/// fallocate(2) and lseek(2).
@Suite struct HolesTests {
    /// Whether whole blocks lie in holes.
    private func expectHoles(in file: File, toFit model: [UInt8]) throws {
        var offset: UInt64 = 0
        while offset < model.count {
            let data = try file.next(hole: false, from: offset) ?? UInt64(model.count)
            try #require(data >= offset)
            #expect(model[Int(offset)..<Int(data)].allSatisfy { $0 == 0 })
            guard data < model.count else { break }
            let hole = try #require(try file.next(hole: true, from: data))
            try #require(hole > data && hole <= model.count)
            #expect(hole % 4096 == 0 || hole == model.count)
            offset = hole
        }
        #expect(try file.next(hole: true, from: UInt64(model.count)) == nil)
        #expect(try file.next(hole: false, from: UInt64(model.count)) == nil)
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>) func matchAModel(seed: UInt64) throws {
        var random = SeededRandom(seed)
        let test = try TestVault()
        var file = try test.create("file")
        var model: [UInt8] = []
        for step in 1...150 {
            let offset = Int.random(in: 0...60_000, using: &random)
            let count = Bool.random(using: &random) ? 4096 : Int.random(in: 1...20_000, using: &random)
            let range = UInt64(offset)..<UInt64(offset + count)
            switch Int.random(in: 0..<15, using: &random) {
            case 0..<4:
                let bytes = [UInt8](repeating: UInt8(step), count: count)
                try file.write(bytes, at: UInt64(offset))
                model += [UInt8](repeating: 0, count: max(0, offset + count - model.count))
                model.replaceSubrange(offset..<offset + count, with: bytes)
            case 4..<8:
                try file.punch(range)
                let end = min(model.count, offset + count)
                if offset < end {
                    model.replaceSubrange(offset..<end, with: [UInt8](repeating: 0, count: end - offset))
                }
            case 8: try file.allocate(range, keepingLength: true)
            case 9:
                try file.allocate(range, keepingLength: false)
                model += [UInt8](repeating: 0, count: max(0, offset + count - model.count))
            case 10:
                try file.truncate(to: UInt64(offset))
                model = Array(model.prefix(offset)) + [UInt8](repeating: 0, count: max(0, offset - model.count))
            case 11, 12:
                // FALLOC_FL_ZERO_RANGE.
                try file.punch(range)
                try file.allocate(range, keepingLength: false)
                model += [UInt8](repeating: 0, count: max(0, offset + count - model.count))
                model.replaceSubrange(offset..<offset + count, with: [UInt8](repeating: 0, count: count))
            case 13: try file.synchronize(dataOnly: Bool.random(using: &random))
            default:
                try test.vault.checkpoint()
                if Bool.random(using: &random) { file = try test.vault.openFile("file", in: test.root) }
            }
            try #require(try file.contents(model.count + 1) == model, "seed \(seed), step \(step)")
            try expectHoles(in: file, toFit: model)
        }
        try file.synchronize(dataOnly: true)
        let readOnly = test.next(isReadOnly: true)
        #expect(try readOnly.openFile("file", in: readOnly.openRoot()).contents(model.count + 1) == model)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(model.count + 1) == model)
    }

    /// The store gets the space back, at once if it is much; a store that cannot punch holes gets zeros.
    @Test(arguments: [true, false]) func spaceIsGivenBack(canPunch: Bool) throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 3 << 20), at: 0)
        try file.synchronize(dataOnly: false)
        let before = try file.status().blocks
        if !canPunch { faults.fail(.allocate, with: .EOPNOTSUPP, lasts: true) }
        try file.punch(4096..<2 << 20)
        let after = try file.status().blocks
        #expect(canPunch ? before - after > 3500 : before == after)
        try file.punch(2 << 20..<(2 << 20) + 40_960)
        try test.vault.checkpoint()
        if canPunch { #expect(try file.status().blocks < after - 60) }
        let (vault, root) = try test.afterDeath()
        let found = try vault.openFile("file", in: root)
        #expect(try found.contents(4097) == [UInt8](repeating: 1, count: 4096) + [0])
        #expect(try found.contents(2, at: (2 << 20) + 40_959) == [0, 1])
        // Where a hole of the store begins within a block, that block is data.
        #expect(try found.next(hole: true, from: 0) ?? 0 <= (canPunch ? 8192 : 3 << 20))
    }

    /// A hole in a file without a name, and space reserved behind a file's end.
    @Test func aFileWithoutANameAndOneThatIsReserved() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 20_000), at: 0)
        try file.synchronize(dataOnly: true)
        try test.vault.unlink("file", in: test.root)
        try file.punch(4096..<12_288)
        try file.write([2], at: 5000)
        try test.vault.checkpoint()
        var model = [UInt8](repeating: 1, count: 20_000)
        model.replaceSubrange(4096..<12_288, with: [UInt8](repeating: 0, count: 8192))
        model[5000] = 2
        #expect(try file.contents(20_001) == model)

        let other = try test.create("other")
        try other.allocate(0..<1 << 20, keepingLength: true)
        #expect(other.length == 0)
        #expect(try other.status().blocks >= 2048)
        #expect(throws: VaultError.system(.EFBIG)) {
            try other.allocate(0..<FileHeader.largestLength + 1, keepingLength: false)
        }
    }

    /// After a truncate, blocks that grow again are in the journal. If they become a hole, the backing file may end
    /// before it.
    @Test(arguments: [true, false]) func aHoleBehindTheBackingFile(isCheckpointed: Bool) throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 63_000), at: 0)
        try file.synchronize(dataOnly: false)
        try file.truncate(to: 30_000)
        try file.allocate(50_000..<65_536, keepingLength: false)
        try file.punch(50_000..<65_536)
        let model = [UInt8](repeating: 1, count: 30_000) + [UInt8](repeating: 0, count: 35_536)
        #expect(try file.contents(70_000) == model)
        try file.synchronize(dataOnly: true)
        if isCheckpointed {
            try test.vault.checkpoint()
            #expect(try file.contents(70_000) == model)
        }
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(70_000) == model)
    }

    /// A store that has holes and cannot make them, or has no room to: existing holes cost no space.
    @Test(arguments: [Errno.EOPNOTSUPP, .ENOSPC]) func aHoleAmongHoles(errno: Errno) throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([1], at: 0)
        try file.write([2], at: 1 << 40)
        try file.synchronize(dataOnly: false)
        faults.fail(.allocate, with: errno, lasts: true)
        try file.punch(0..<1 << 40)
        try file.synchronize(dataOnly: false)
        #expect(try file.contents(10) == [UInt8](repeating: 0, count: 10))
        #expect(try file.contents(10, at: 1 << 40) == [2])
        #expect(try file.status().blocks < 1000)
    }

    /// The blocks of a hole that could not be made yet are not checked one by one, also while the flushed state has no
    /// hole.
    @Test(.timeLimit(.minutes(10))) func aHugeHoleThatIsPending() throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([1], at: 0)
        try file.write([2], at: 1 << 43)
        // As a flush of the file does at this moment.
        file.lock.withExclusive { file.state.raiseEnd() }
        faults.fail(.allocate, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try file.punch(4096..<1 << 43) }
        #expect(file.lock.withShared { !file.state.journal.holes.isEmpty })
        try file.synchronize(dataOnly: true)
        #expect(try file.contents(10, at: 1 << 43) == [2])
        #expect(try file.contents(2) == [1, 0])
    }

    @Test func aSparseFile() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([1], at: 0)
        try file.write([2], at: 100 << 20)
        try file.write([3], at: 50 << 20)
        let near: UInt64 = 8192
        #expect(try #require(try file.next(hole: true, from: 0)) <= near)
        #expect(((50 << 20) - near...50 << 20).contains(try #require(try file.next(hole: false, from: near))))
        #expect(
            ((100 << 20) - near...100 << 20).contains(try #require(try file.next(hole: false, from: (50 << 20) + near)))
        )
        #expect(try file.next(hole: true, from: 100 << 20) == (100 << 20) + 1)
        #expect(try file.status().blocks < 1000)
    }
}
