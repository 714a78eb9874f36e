import Format
import Posix
import TestStores
import Testing

@testable import Vault

/// A store without room: each change is made, or what was there is unharmed.
@Suite struct FullStoreTests {
    private static let old = [UInt8](repeating: 1, count: 20_000)

    private func scene(_ contents: [UInt8] = old) throws -> (TestVault, FaultPlan, File) {
        let test = try TestVault { FaultInjectingStore($0) }
        let file = try test.create("file")
        try file.write(contents, at: 0)
        return (test, try #require(test.store as? FaultInjectingStore).faults, file)
    }

    private func expect(_ contents: [UInt8], in test: TestVault, _ file: File) throws {
        #expect(try file.contents(30_000) == contents)
        try test.vault.checkpoint()
        #expect(try file.contents(30_000) == contents)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(30_000) == contents)
    }

    /// A truncate that fails changes nothing, wherever the contents are at the moment; a truncate that succeeds is
    /// complete.
    @Test(arguments: [0, 100, 4096, 19_000] as [UInt64], ["new", "synced", "in the journal", "checkpointed"])
    func aTruncateThatFailsChangesNothing(length: UInt64, state: String) throws {
        for nth in 1...6 {
            let (test, faults, file) = try scene()
            if state != "new" { try file.synchronize(dataOnly: false) }
            if state == "in the journal" {
                try file.write(Self.old, at: 0)
                try file.synchronize(dataOnly: true)
            }
            if state == "checkpointed" { try test.vault.checkpoint() }
            faults.fail([.write, .allocate], nth: nth, with: .ENOSPC, lasts: true)
            var contents = Self.old
            do throws(VaultError) {
                try file.truncate(to: length)
                contents = Array(contents.prefix(Int(length)))
            } catch { #expect(error == .system(.ENOSPC)) }
            faults.clear()
            try expect(contents, in: test, file)
        }
    }

    /// A file is truncated in the middle of a hole, or grows by one, and half of its last block is written. The first
    /// write is the header, one sector, which is written whole or not at all.
    @Test(arguments: [2, 3], [3_000_000, 100] as [UInt64])
    func aLastBlockThatIsWrittenByHalf(nth: Int, length: UInt64) throws {
        let (test, faults, file) = try scene([])
        try file.truncate(to: 4 << 20)
        try file.write([UInt8](repeating: 5, count: 4096), at: 0)
        faults.fail(.write, nth: nth, with: .ENOSPC, effect: .half, lasts: true)
        var expected = [UInt8](repeating: 5, count: 4096) + [UInt8](repeating: 0, count: (4 << 20) - 4096)
        do throws(VaultError) {
            try file.truncate(to: length)
            expected = Array(expected.prefix(Int(length)))
        } catch { #expect(error == .system(.ENOSPC)) }
        #expect(try file.contents(expected.count + 1) == expected)
        faults.clear()
        try file.synchronize(dataOnly: true)
        #expect(try file.contents(expected.count + 1) == expected)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(expected.count + 1) == expected)
    }

    /// If the backing file cannot be truncated, the truncated bytes do not come back.
    @Test func aBackingFileThatCannotBeTruncated() throws {
        let (test, faults, file) = try scene([UInt8](repeating: 1, count: 3 << 20))
        faults.fail(.truncate, with: .EIO, lasts: true)
        try file.truncate(to: 100)
        faults.clear()
        try file.truncate(to: 3 << 20)
        let expected = [UInt8](repeating: 1, count: 100) + [UInt8](repeating: 0, count: (3 << 20) - 100)
        #expect(try file.contents(4 << 20) == expected)
        try file.synchronize(dataOnly: true)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(4 << 20) == expected)
    }

    /// If a hole cannot be made as a whole, each block is either data or hole.
    @Test(arguments: 1...6, [false, true]) func aHoleThatIsMadeByHalf(nth: Int, isSynced: Bool) throws {
        // Five whole blocks: half of them is no whole number.
        let (test, faults, file) = try scene([UInt8](repeating: 1, count: 22_000))
        if isSynced { try file.synchronize(dataOnly: false) }
        faults.fail(.allocate, with: .EOPNOTSUPP, lasts: true)
        faults.fail(.write, nth: nth, with: .ENOSPC, effect: .half, lasts: true)
        try? file.punch(0..<22_000)
        faults.clear()
        let found = try file.contents(30_000)
        try #require(found.count == 22_000)
        for start in stride(from: 0, to: 22_000, by: 4096) {
            let block = found[start..<min(start + 4096, 22_000)]
            #expect(Set(block).count == 1, "block \(start / 4096)")
        }
        try file.synchronize(dataOnly: true)
        try expect(found, in: test, file)
    }

    /// The block in which a write stopped is written once there is room, whatever comes before it.
    @Test func aBlockThatIsWrittenByHalfIsNotForgotten() throws {
        let (test, faults, file) = try scene()
        faults.fail(.write, with: .ENOSPC, effect: .half, lasts: true)
        #expect(throws: VaultError.system(.ENOSPC)) { try file.write([UInt8](repeating: 2, count: 12_288), at: 0) }
        faults.clear()
        try file.write([UInt8](repeating: 3, count: 4096), at: 0)
        let found = try file.contents(30_000)
        #expect(found.prefix(4096).allSatisfy { $0 == 3 })
        #expect(Set(found[4096..<8192]).count == 1)
        try file.synchronize(dataOnly: true)
        try expect(found, in: test, file)
    }

    /// The strictness of a database that cannot be read is unknown.
    @Test(arguments: [Posix.Errno.EMFILE, .EIO, .ENOMEM])
    func aDatabaseThatCannotBeLookedAt(errno: Posix.Errno) throws {
        let (test, faults, _) = try scene()
        try test.create("database").setClass(.complete)
        // It is not in memory any more.
        try test.vault.checkpoint()
        faults.fail(.open, with: errno, lasts: true)
        #expect(throws: VaultError.system(errno)) { try test.vault.classOfNewFile("database-wal", in: test.root) }
        faults.clear()
        #expect(try test.vault.classOfNewFile("database-wal", in: test.root) == .complete)
    }
}
