import Format
import Posix
import Store
import TestStores
import Testing

@testable import Vault
@testable import VaultCheck

/// Files without a name, and linking them to one.
@Suite struct NamelessTests {
    private func file(_ contents: [UInt8], in test: TestVault) throws -> File {
        let file = try test.vault.createNamelessFile(in: test.root, test.me, .complete)
        try file.write(contents, at: 0)
        return file
    }

    private func left(in test: TestVault) throws -> Int {
        let folder = try test.store.open(.nameless, in: test.store.root, OpenFlags.directory)
        return try test.store.entries(of: folder).count
    }

    /// The next session has no file that the last one left without a name, whatever the journal has of it.
    @Test(arguments: [false, true]) func goesWithTheSession(isSynced: Bool) throws {
        let test = try TestVault()
        let file = try file([1, 2, 3], in: test)
        if isSynced {
            try file.synchronize(dataOnly: false)
            try file.write([4], at: 0)
            try file.synchronize(dataOnly: true)
        }
        #expect(try left(in: test) == 1)
        #expect(try test.names().isEmpty)
        let found = Findings()
        try Check(of: test.next(isReadOnly: true), contents: true, threads: 1) { found.add($0) }.run()
        #expect(found.all.filter { $0.kind == .temporary }.count == 1)
        #expect(found.all.allSatisfy { $0.severity != .damage })
        _ = try test.afterDeath()
        #expect(try left(in: test) == 0)
    }

    @Test func goesWithItsLastUser() throws {
        let test = try TestVault()
        let file = try file([1], in: test)
        try file.synchronize(dataOnly: false)
        try test.vault.removeNameless(file)
        #expect(try left(in: test) == 0)
        #expect(throws: VaultError.system(.ENOENT)) { try test.vault.giveName("late", in: test.root, to: file) }
        try test.vault.close()
    }

    /// Each change fails once: the file has the name and is whole, or has no name.
    @Test(arguments: 1...8, ["name", Name(bytes: [UInt8](repeating: 97, count: 200))!] as [Name])
    func aNameThatFails(call: Int, name: Name) throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try file([1, 2, 3], in: test)
        try file.synchronize(dataOnly: false)
        faults.fail(nil, nth: call, with: .EIO)
        let isNamed = (try? test.vault.giveName(name, in: test.root, to: file)) != nil
        faults.clear()
        #expect(file.isNameless != isNamed)
        #expect(try test.names() == (isNamed ? [name.description] : []))
        if isNamed {
            try test.vault.synchronize(test.root)
            let (vault, root) = try test.afterDeath()
            #expect(try vault.openFile(name, in: root).contents(10) == [1, 2, 3])
        }
    }
}
