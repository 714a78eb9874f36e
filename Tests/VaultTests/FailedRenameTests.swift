import Format
import Posix
import Store
import Testing

@testable import Vault

@Suite struct FailedRenameTests {
    private func scene() throws -> (test: TestVault, faults: FaultInjectingStore) {
        var faults: FaultInjectingStore!
        let test = try TestVault { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let saved = try test.create("new")
        try saved.setClass(.complete)
        try saved.write([4, 5, 6], at: 0)
        try saved.synchronize(dataOnly: false)
        try test.create("old").setClass(.none)
        return (test, faults)
    }

    /// A rename that would have taken over a weaker class, and did not happen, has not weakened the class.
    @Test(arguments: [Operation.Kind.rename, .synchronize]) func theClassIsAsItWas(call: Operation.Kind) throws {
        let (test, faults) = try scene()
        let before = try test.vault.openFile("new", in: test.root).header
        faults.faults.fail(call, with: .ENOSPC)
        #expect(throws: VaultError.system(.ENOSPC)) { try test.rename("new", to: "old") }
        faults.faults.clear()
        let file = try test.vault.openFile("new", in: test.root)
        #expect(file.header.protectionClass == .complete)
        #expect(file.header.flags == before.flags)
        #expect(file.header.places == before.places)
        #expect(file.header.protection == before.protection)
        #expect(try file.contents(3) == [4, 5, 6])
    }

    /// What is left to do after the rename itself, whoever opens the file next does.
    @Test func aRenameThatHappenedIsNoFailure() throws {
        let (test, faults) = try scene()
        faults.faults.fail(.write, nth: 2, with: .EIO)
        try test.rename("new", to: "old")
        faults.faults.clear()
        #expect(try test.names() == ["old"])
        let file = try test.vault.openFile("old", in: test.root)
        #expect(try file.contents(3) == [4, 5, 6])
        #expect(!file.header.flags.contains(.moving))
    }
}
