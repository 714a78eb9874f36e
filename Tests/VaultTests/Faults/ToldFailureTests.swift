import Glibc
import Posix
import TestStores
import Testing

@testable import Vault

/// Failures that were once hidden from a caller who had to know, or reported to one who did not.
@Suite struct ToldFailureTests {
    private func scene(isPrivileged: Bool? = nil) throws -> (test: TestVault, faults: FaultPlan) {
        let test = try TestVault(isPrivileged: isPrivileged) { FaultInjectingStore($0) }
        return (test, try #require(test.store as? FaultInjectingStore).faults)
    }

    /// If the journal has failed, a file that the journal protects cannot be written to; it can still be read.
    @Test func statWorksWithoutAJournal() throws {
        let (test, faults) = try scene()
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        try file.synchronize(dataOnly: false)
        // The journal's first write is zeros and no record: the fault must meet a later one.
        try file.write([1], at: 0)
        try file.synchronize(dataOnly: false)
        faults.fail(.write, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try file.write([4], at: 0) }
        #expect(throws: VaultError.system(.EIO)) { try file.write([4], at: 0) }
        #expect(faults.injected == 1)
        #expect(try file.status().size == 3)
        #expect(try file.contents(10) == [1, 2, 3])
    }

    /// After utimensat(2) has succeeded, stat(2) shows the time, and so does the next session.
    @Test func aTimeThatTheStoreRefusedIsNotForgotten() throws {
        let (test, faults) = try scene()
        try test.create("file").write([1], at: 0)
        try test.vault.checkpoint()
        let time = Timespec(seconds: 1_000_000_000, nanoseconds: 7)
        faults.fail(.setTimes, with: .EIO)
        try test.vault.openFile("file", in: test.root).setTimes(accessed: .keep, modified: .at(time))
        #expect(faults.injected == 1)
        #expect(try test.vault.openFile("file", in: test.root).status().modified == time)
        try test.vault.close()
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).status().modified == time)
    }

    /// A file that cannot be looked at may be one that the journal knows under this name: it stays.
    @Test(arguments: [false, true]) func nothingIsTakenAwayUnseen(byRename: Bool) throws {
        let (test, faults) = try scene()
        try test.create("file").write([1, 2, 3], at: 0)
        try test.vault.makeSymbolicLink(to: [1], "link", in: test.root, user: 0, group: 0)
        faults.fail(.status, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) {
            guard byRename else { return try test.vault.unlink("file", in: test.root) }
            try test.vault.rename(
                test.vault.renameEnd("link", in: test.root), .other, to: test.vault.renameEnd("file", in: test.root),
                replaced: nil, RenameKind())
        }
        #expect(try test.names() == ["file", "link"])
        #expect(try test.vault.openFile("file", in: test.root).contents(10) == [1, 2, 3])
    }

    /// A copier that does not know of hard links makes two links of one: the target must not go with the first.
    @Test func aLongTargetThatCannotBeKeptGetsNoSecondLink() throws {
        let (test, faults) = try scene()
        let target = [UInt8](repeating: 65, count: 3500)
        try test.vault.makeSymbolicLink(to: target, "link", in: test.root, user: 0, group: 0)
        faults.fail(.readSymbolicLink, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) {
            try test.vault.link("link", in: test.root, file: nil, to: "second", in: test.root)
        }
        #expect(try test.names() == ["link"])
    }

    /// A node whose mode cannot be set is removed again; under a long name its sidecar is removed too.
    @Test(arguments: [false, true], ["node", FaultScene.longFree] as [Name])
    func aNodeWithoutItsModeGoes(isPrivileged: Bool, name: Name) throws {
        let (test, faults) = try scene(isPrivileged: isPrivileged)
        faults.fail(.setMode, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) {
            try test.vault.makeNode(name, in: test.root, mode: S_IFIFO | 0o600, device: 0, test.me)
        }
        #expect(try test.names().isEmpty)
        try test.vault.checkpoint()
        #expect(try test.backingNames.allSatisfy { ["lk.dir", "lk.journal"].contains($0) })
    }
}
