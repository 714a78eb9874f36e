import Format
import Posix
import Store
import TestStores
import Testing

@testable import Vault

/// renameat2(2), RENAME_EXCHANGE.
@Suite struct ExchangeTests {
    private static let long = Name(bytes: [UInt8](repeating: UInt8(ascii: "l"), count: 200))!

    private func scene(
        wrapping wrap: (DirectoryStore) throws -> any Store = { $0 }
    ) throws -> (test: TestVault, folder: Directory) {
        let test = try TestVault(wrapping: wrap)
        let folder = try test.makeDirectory("folder")
        for (name, parent, contents) in [("file" as Name, test.root, 1 as UInt8), (Self.long, folder, 2)] {
            let file = try test.create(name, in: parent)
            try file.write([contents], at: 0)
            try file.synchronize(dataOnly: false)
        }
        let inner = try test.makeDirectory("inner", in: folder)
        let deep = try test.create("deep", in: inner)
        try deep.write([3], at: 0)
        try deep.synchronize(dataOnly: false)
        try test.vault.makeSymbolicLink(to: [0x78], "link", in: folder, user: 0, group: 0)
        return (test, folder)
    }

    private func exchanged(_ name: Name, in parent: Directory, _ vault: Vault) throws -> Exchanged {
        switch try vault.lookup(name, in: parent).details {
        case .file: Exchanged(name, in: parent, .file(try vault.openFile(name, in: parent)))
        case .directory(let directory): Exchanged(name, in: parent, .directory(directory))
        case .other: Exchanged(name, in: parent, .other)
        }
    }

    private func exchange(_ name: Name, _ other: Name, in folder: Directory, _ test: TestVault) throws {
        try test.vault.exchange(
            exchanged(name, in: test.root, test.vault), exchanged(other, in: folder, test.vault))
    }

    /// What a name leads to.
    private func seen(_ name: Name, in parent: Directory, _ vault: Vault) throws -> String {
        switch try vault.lookup(name, in: parent).details {
        case .file: "file \(try vault.openFile(name, in: parent).contents(10))"
        case .directory(let directory): "folder \(try vault.openFile("deep", in: directory).contents(10))"
        case .other: "link \(try vault.readSymbolicLink(name, in: parent))"
        }
    }

    @Test(arguments: [(Self.long, "file [2]"), ("inner", "folder [3]"), ("link", "link [120]")] as [(Name, String)])
    func eachGetsTheOthersName(_ other: Name, _ what: String) throws {
        let (test, folder) = try scene()
        try exchange("file", other, in: folder, test)
        #expect(try seen("file", in: test.root, test.vault) == what)
        #expect(try seen(other, in: folder, test.vault) == "file [1]")
        // Written to and synced under the new name, and found there by the next daemon.
        let file = try test.vault.openFile(other, in: folder)
        try file.write([9], at: 1)
        try file.synchronize(dataOnly: true)
        let (vault, root) = try test.afterDeath()
        let again = try vault.openDirectory("folder", in: root)
        #expect(try seen("file", in: root, vault) == what)
        #expect(try seen(other, in: again, vault) == "file [1, 9]")
        // And back.
        try vault.exchange(exchanged("file", in: root, vault), exchanged(other, in: again, vault))
        #expect(try seen("file", in: root, vault) == "file [1, 9]")
        #expect(try seen(other, in: again, vault) == what)
    }

    /// Each change of an exchange fails once: either both names are where they were, or both are exchanged.
    @Test(arguments: [Self.long, "inner", "link"] as [Name], 1...12)
    func oneThatFailsChangesNothing(other: Name, call: Int) throws {
        var faults: FaultInjectingStore!
        let (test, folder) = try scene { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let before = try (seen("file", in: test.root, test.vault), seen(other, in: folder, test.vault))
        faults.faults.fail(nil, nth: call, with: .EIO)
        let isDone = (try? exchange("file", other, in: folder, test)) != nil
        faults.faults.clear()
        let (vault, root) = try test.afterDeath()
        for (vault, root) in [(test.vault, test.root), (vault, root)] {
            let folder = try vault.openDirectory("folder", in: root)
            let after = try (seen("file", in: root, vault), seen(other, in: folder, vault))
            #expect(after == (isDone ? (before.1, before.0) : before))
        }
    }

    /// Neither file replaces the other: the class stays with the file.
    @Test func classesGoWithTheirFiles() throws {
        let (test, folder) = try scene()
        try test.vault.openFile("file", in: test.root).setClass(.complete)
        try exchange("file", Self.long, in: folder, test)
        #expect(try test.vault.openFile(Self.long, in: folder).header.protectionClass == .complete)
        #expect(
            try test.vault.openFile("file", in: test.root).header.protectionClass
                == .completeUntilFirstUserAuthentication)
    }
}
