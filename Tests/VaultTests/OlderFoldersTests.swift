import Format
import Freshness
import Glibc
import Posix
import TestSupport
import Testing

@testable import Vault

/// Old versions of folders that are put back: of their records, and of folders that were renamed.
@Suite struct OlderFoldersTests {
    let machine: TestMachine

    init() throws { machine = try TestMachine() }

    /// A folder of a weaker class than it has now.
    private func changeClass(_ changes: Int = 1) throws -> String {
        try machine.session { session in try session.setClass(.none, of: "folder") }
        let before = try machine.copy()
        for _ in 0..<changes {
            try machine.session { session in
                try session.setClass(.completeUnlessOpen, of: "folder")
                try session.setClass(.complete, of: "folder")
            }
        }
        return before
    }

    @Test(arguments: [1, 10]) func anOlderRecord(changes: Int) throws {
        let before = try changeClass(changes)
        try machine.session { session in
            _ = try session.folder("folder")
            #expect(session.verdicts.isEmpty)
        }
        try machine.putBackTree("folder", "/lk.dir", from: before)
        try machine.session { session in
            let folder = try session.folder("folder")
            #expect(session.verdicts == ["folder": .older] && folder.record.defaultClass == .none)
            // What is made in it has the class that was seen.
            #expect(session.vault.classOfNew(in: folder) == .complete)
            try session.vault.accept(folder)
            #expect(session.watch.count == 0 && session.vault.classOfNew(in: folder) == .none)
        }
        try machine.session { session in
            let folder = try session.folder("folder")
            #expect(session.verdicts.isEmpty && session.vault.classOfNew(in: folder) == .none)
        }
    }

    @Test func strictness() throws {
        let before = try changeClass()
        try machine.putBackTree("folder", "/lk.dir", from: before)
        try machine.session(.refuse) { session in
            let (vault, folder) = (session.vault, try session.folder("folder"))
            func refused(_ body: () throws -> Void) {
                #expect { try body() } throws: { if case VaultError.stale? = $0 as? VaultError { true } else { false } }
            }
            refused { _ = try vault.entries(of: folder) }
            refused { _ = try vault.createFile("new", in: folder, session.me, .complete) }
            refused { try vault.makeDirectory("new", in: folder, session.me) }
            refused { try vault.makeSymbolicLink(to: [65], "new", in: folder, user: getuid(), group: getgid()) }
            refused { try vault.setDefaultClass(.complete, isExplicit: true, of: folder) }
            try session.write(1, to: "file")
            refused {
                try vault.rename(
                    vault.renameEnd("file", in: session.root), .file(try vault.openFile("file", in: session.root)),
                    to: vault.renameEnd("new", in: folder), replaced: nil, RenameKind())
            }
            refused {
                try vault.link("file", in: session.root, file: try session.open("file"), to: "new", in: folder)
            }
            let nameless = try vault.createNamelessFile(in: session.root, session.me, .none)
            refused { try vault.giveName("new", in: folder, to: nameless) }
            try vault.removeNameless(nameless)
            try vault.accept(folder)
            let entries = try vault.entries(of: folder)
            #expect(entries.isEmpty)
            try vault.makeDirectory("new", in: folder, session.me)
        }
        try machine.session(.refuse) { session in
            let entries = try session.vault.entries(of: session.folder("folder"))
            #expect(entries.count == 1)
        }
    }

    /// The class that its owner sets is newer than all that was seen.
    @Test func aChangeEndsIt() throws {
        let before = try changeClass(5)
        try machine.putBackTree("folder", "/lk.dir", from: before)
        try machine.session { session in try session.setClass(.completeUnlessOpen, of: "folder") }
        try machine.session { session in
            let folder = try session.folder("folder")
            #expect(session.verdicts.isEmpty && session.vault.classOfNew(in: folder) == .completeUnlessOpen)
        }
    }

    /// A rename makes no weaker class the newest one.
    @Test func aRename() throws {
        let before = try changeClass()
        try machine.putBackTree("folder", "/lk.dir", from: before)
        try machine.session(.refuse) { session in
            #expect(throws: VaultError.self) { try session.renameFolder("folder", to: "other") }
            #expect(throws: VaultError.self) {
                try session.vault.exchange(
                    Exchanged("folder", in: session.root, .directory(try session.folder("folder"))),
                    Exchanged("second", in: session.root, .directory(try session.folder("second"))))
            }
        }
        try machine.session { session in
            try session.renameFolder("folder", to: "other")
            let folder = try session.folder("other")
            #expect(folder.record.defaultClass == .complete)
        }
    }

    /// A record that is put back while the folder is open is accepted, too.
    @Test func anOpenFolder() throws {
        let before = try changeClass()
        try machine.session { session in
            let folder = try session.folder("folder")
            try machine.putBackTree("folder", "/lk.dir", from: before)
            _ = try session.folder("folder")
            #expect(session.verdicts == ["folder": .older])
            try session.vault.accept(folder)
            #expect(session.watch.count == 0)
        }
        try machine.session { session in
            let folder = try session.folder("folder")
            #expect(folder.record.defaultClass == .none && session.verdicts.isEmpty)
        }
    }

    /// What a removed folder leaves does not count as present for ever, and its return is noticed.
    @Test func aRemovedFolderIsBack() throws {
        try machine.session { session in try session.setClass(.none, of: "folder") }
        let before = try machine.copy()
        try machine.session { session in
            _ = try session.folder("folder")
            try session.vault.removeDirectory("folder", in: session.root)
        }
        try machine.putBackTree("folder", from: before)
        try machine.session { session in
            _ = try session.folder("folder")
            #expect(session.verdicts == ["folder": .back])
        }
    }

    @Test func theRoot() throws {
        let before = try machine.copy()
        try machine.session { session in
            try session.vault.setDefaultClass(.complete, isExplicit: true, of: session.root)
        }
        try machine.putBackRecordOfRoot(from: before)
        try machine.session { session in
            #expect(session.watch.count == 1 && session.vault.classOfNew(in: session.root) == .complete)
            let stale = try session.vault.staleness(ofRoot: session.root)
            #expect(stale?.kind == .directory && stale?.verdict == .older)
            try session.vault.accept(session.root)
        }
        try machine.session { session in
            #expect(session.watch.count == 0)
        }
    }

    /// A folder that was renamed, and its old copy beside it.
    @Test func aRenamedFolderIsBack() throws {
        try machine.session { session in try session.setClass(.none, of: "folder") }
        let before = try machine.copy()
        try machine.session { session in try session.renameFolder("folder", to: "other") }
        try machine.putBackTree("folder", from: before)
        try machine.session { session in
            _ = try (session.folder("folder"), session.folder("other"))
            #expect(session.verdicts == ["folder": .back])
        }
    }

    /// Renames to and fro, exchanges, and another folder of the name are no going back, here or on another machine.
    @Test func namesThatComeAndGo() throws {
        try machine.session { session in for name in ["a", "b"] as [Name] { _ = try session.folder(name) } }
        let machines = [machine, try TestMachine(of: machine, from: try machine.copy())]
        for round in 0..<4 {
            let (here, there) = (machines[round % 2], machines[(round + 1) % 2])
            try here.session { session in
                try session.renameFolder("a", to: "c")
                try session.vault.flushAll()
                try session.renameFolder("c", to: "a")
                try session.vault.exchange(
                    Exchanged("a", in: session.root, .directory(try session.folder("a"))),
                    Exchanged("b", in: session.root, .directory(try session.folder("b"))))
                try session.renameFolder("b", to: "d")
                _ = try session.folder("b")
                try session.vault.removeDirectory("b", in: session.root)
                try session.renameFolder("d", to: "b")
                _ = try session.folder("passing")
                try session.vault.removeDirectory("passing", in: session.root)
            }
            try there.putBackAll(from: try here.copy())
            for machine in [here, there] {
                try machine.session { session in
                    for name in ["a", "b"] as [Name] { _ = try session.folder(name) }
                    #expect(session.verdicts.isEmpty, "round \(round)")
                }
            }
        }
    }

    /// In a vault of an earlier version records have no generation: its folders are not compared, and what they were
    /// like then says nothing when its keys have been rotated.
    @Test(arguments: [false, true]) func aVaultOfAnEarlierVersion(isRotated: Bool) throws {
        machine.numbersDirectories = false
        let before = try changeClass()
        if isRotated {
            machine.numbersDirectories = true
            try machine.session(.refuse) { session in
                let entries = try session.vault.entries(of: session.folder("folder"))
                #expect(entries.isEmpty && session.verdicts.isEmpty)
            }
            machine.numbersDirectories = false
        }
        try machine.session { session in
            let folder = try session.folder("folder")
            #expect(folder.record.generation == 0)
            #expect(session.verdicts.isEmpty)
            try session.renameFolder("folder", to: "other")
            try session.renameFolder("other", to: "folder")
        }
        try machine.session(.refuse) { session in
            let entries = try session.vault.entries(of: session.folder("folder"))
            #expect(entries.isEmpty && session.verdicts.isEmpty)
        }
        try machine.putBackTree("folder", "/lk.dir", from: before)
        try machine.session { session in
            _ = try session.folder("folder")
            #expect(session.verdicts.isEmpty)
        }
    }

    /// A thief of the keys makes a record of a very high generation: the class can be changed all the same, and the
    /// honest record is not older for ever.
    @Test(arguments: [DirectoryRecord.highestGeneration, Marks.highestGeneration]) func poisoned(
        generation: UInt64
    ) throws {
        try machine.session { session in try session.setClass(.none, of: "folder") }
        let before = try machine.copy()
        try machine.session { session in
            let folder = try session.folder("folder")
            folder.state.withLock { $0.record.generation = generation - 1 }
            for protectionClass in [.complete, .none, .complete] as [ProtectionClass] {
                try session.vault.setDefaultClass(protectionClass, isExplicit: true, of: folder)
            }
        }
        try machine.session { session in
            let folder = try session.folder("folder")
            #expect(folder.record.defaultClass == .complete && session.verdicts.isEmpty)
        }
        try machine.putBackTree("folder", "/lk.dir", from: before)
        try machine.session { session in try session.vault.accept(try session.folder("folder")) }
        try machine.session { session in
            let folder = try session.folder("folder")
            #expect(folder.record.defaultClass == .none && session.verdicts.isEmpty)
        }
    }
}
