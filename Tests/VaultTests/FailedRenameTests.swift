import Format
import Posix
import TestStores
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

    /// A rename that would take over a weaker class, and fails, does not weaken the class.
    @Test(arguments: [Operation.Kind.rename, .synchronize]) func theClassIsAsItWas(call: Operation.Kind) throws {
        let (test, faults) = try scene()
        let before = try test.vault.openFile("new", in: test.root).header
        faults.faults.fail(call, with: .ENOSPC)
        #expect(throws: VaultError.system(.ENOSPC)) { try test.rename("new", to: "old") }
        faults.faults.clear()
        let file = try test.vault.openFile("new", in: test.root)
        #expect(file.header.protectionClass == .complete)
        #expect(file.header.flags == before.flags)
        #expect(file.header.bindings == before.bindings)
        #expect(file.header.protection == before.protection)
        #expect(try file.contents(3) == [4, 5, 6])
    }

    /// If a rename has happened and only its clean-up failed, the next open of the file finishes it.
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

    /// The pending record has become the record and a later step fails: the next rename does not look for a pending
    /// record.
    @Test func aPendingRecordThatBecameTheRecordIsNotMissed() throws {
        let (test, faults) = try scene()
        let directory = try test.makeDirectory("first")
        try test.vault.checkpoint()
        func rename(_ name: Name, to newName: Name) throws {
            try test.vault.rename(
                test.vault.renameEnd(name, in: test.root), .directory(directory),
                to: test.vault.renameEnd(newName, in: test.root), replaced: nil, RenameKind())
        }
        // The first rename call is that of the record, which is written before the directory's rename.
        faults.faults.fail(.setTimes, nth: 2, with: .EIO)
        try rename("first", to: "second")
        #expect(faults.faults.injected == 1)
        try rename("second", to: "third")
        #expect(try test.names().contains("third"))
    }

    /// A directory that was opened between its two records has no pending record: the next rename writes one only after
    /// the first record is durable.
    @Test func aDirectoryBetweenItsRecordsKeepsThem() throws {
        let (test, faults) = try scene()
        let folder = try test.makeDirectory("folder")
        let directory = try test.makeDirectory("first")
        try test.create("file", in: directory).write([1, 2, 3], at: 0)
        try test.vault.synchronize(test.root)
        try test.vault.checkpoint()
        func rename(_ directory: Directory, _ name: Name, in parent: Directory, to newName: Name) throws {
            try test.vault.rename(
                test.vault.renameEnd(name, in: parent), .directory(directory),
                to: test.vault.renameEnd(newName, in: folder), replaced: nil, RenameKind())
        }
        faults.faults.fail(.synchronize, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try test.vault.synchronize(folder) }
        try rename(directory, "first", in: test.root, to: "second")
        // The first rename call is that of the record.
        faults.faults.fail(.rename, nth: 2, with: .EIO)
        let opened = try test.vault.openDirectory("second", in: folder)
        #expect(throws: VaultError.system(.EIO)) { try rename(opened, "second", in: folder, to: "third") }
        faults.faults.clear()
        let found = try test.vault.openDirectory("second", in: folder)
        #expect(try test.vault.openFile("file", in: found).contents(10) == [1, 2, 3])
    }

    /// Any step of a directory's rename fails: the directory's contents read at one of its two names, at once, after
    /// the next rename, and in the next daemon.
    @Test(arguments: [false, true], [false, true]) func aDirectoryIsNeverLost(replaces: Bool, isReopened: Bool) throws {
        for kind in [Operation.Kind.synchronize, .rename, .makeSymbolicLink, .unlink] {
            for nth in 1...6 {
                let (test, faults) = try scene()
                let other = try test.makeDirectory("other")
                if replaces { _ = try test.makeDirectory("second", in: other) }
                var directory = try test.makeDirectory("first")
                try test.create("file", in: directory).write([1, 2, 3], at: 0)
                try test.vault.checkpoint()
                func rename(_ name: Name, in parent: Directory, to newName: Name, in newParent: Directory) throws {
                    try test.vault.rename(
                        test.vault.renameEnd(name, in: parent), .directory(directory),
                        to: test.vault.renameEnd(newName, in: newParent), replaced: nil, RenameKind())
                }
                func expectReadable(_ vault: Vault, _ root: Directory, _ step: String) throws {
                    let other = try vault.openDirectory("other", in: root)
                    var found: [[UInt8]] = []
                    for (name, parent) in [("first", root), ("second", other), ("third", root)] as [(Name, Directory)] {
                        guard let directory = try? vault.openDirectory(name, in: parent),
                            let file = try? vault.openFile("file", in: directory)
                        else { continue }
                        found.append(try file.contents(10))
                    }
                    #expect(found == [[1, 2, 3]], "\(kind) \(nth), \(step)")
                }
                faults.faults.fail(kind, nth: nth, with: .EIO)
                _ = try? rename("first", in: test.root, to: "second", in: other)
                faults.faults.clear()
                let isMoved = try test.names(in: other) == ["second"] && !(try test.names().contains("first"))
                // Only every other run looks in between.
                if nth % 2 == 0 { try expectReadable(test.vault, test.root, "at once") }
                faults.faults.fail(.synchronize, nth: nth, with: .EIO)
                let (name, parent): (Name, Directory) = isMoved ? ("second", other) : ("first", test.root)
                // As a mount that has forgotten the inode.
                if isReopened { directory = try test.vault.openDirectory(name, in: parent) }
                _ = try? rename(name, in: parent, to: "third", in: test.root)
                faults.faults.clear()
                try expectReadable(test.vault, test.root, "after another")
                let (vault, root) = try test.afterDeath()
                try expectReadable(vault, root, "after death")
            }
        }
    }
}
