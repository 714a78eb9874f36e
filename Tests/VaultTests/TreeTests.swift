import Format
import Keybag
import Posix
import Store
import TestStores
import Testing

@testable import Vault

@Suite struct TreeTests {
    @Test func namesOfAllSorts() throws {
        let test = try TestVault()
        var names: [Name] = ["a", "lk.dir", "lk.keybag", "...", "日本語", " "]
        for count in [174, 175, 176, 254, 255] { names.append(Name(bytes: [UInt8](repeating: 0x61, count: count))!) }
        names.append(Name(bytes: [0xFF, 0xFE, 0x0A])!)
        for name in names { _ = try test.create(name) }
        #expect(Set(try test.vault.entries(of: test.root).map(\.name)) == Set(names))
        for name in names {
            _ = try test.vault.lookup(name, in: test.root)
            let moved = Name(bytes: [0x62] + name.bytes.dropFirst())!
            try test.rename(name, to: moved)
            try test.rename(moved, to: name)
            try test.vault.unlink(name, in: test.root)
        }
        #expect(try test.names().isEmpty)
        // The sidecars of long names are removed once the removal of their entries is durable.
        try test.vault.checkpoint()
        #expect(try test.backingNames.sorted() == ["lk.dir", "lk.journal"])
    }

    @Test(arguments: [StoreTraits.RecordKind.symbolicLink, .file])
    func directoriesComeAndGo(recordKind: StoreTraits.RecordKind) throws {
        let test = try TestVault(recordKind: recordKind)
        let outer = try test.makeDirectory("outer")
        let inner = try test.makeDirectory("inner", in: outer)
        _ = try test.create("file", in: inner)
        #expect(throws: VaultError.system(.ENOTEMPTY)) { try test.vault.removeDirectory("outer", in: test.root) }
        try test.rename("outer", to: "moved")
        let moved = try test.vault.openDirectory("moved", in: test.root)
        #expect(moved.identifier == outer.identifier)
        let again = try test.vault.openDirectory("inner", in: moved)
        #expect(try test.names(in: again) == ["file"])
        _ = try test.makeDirectory("empty")
        try test.rename("inner", to: "empty", in: moved, newParent: test.root)
        #expect(try test.names() == ["moved", "empty"])
        try test.vault.removeDirectory("moved", in: test.root)
        #expect(throws: VaultError.system(.EEXIST)) { try test.makeDirectory("empty") }
        #expect(try test.backingNames.filter { $0.hasPrefix("lk.tmp.") }.isEmpty)
    }

    @Test(arguments: [StoreTraits.RecordKind.symbolicLink, .file])
    func aDirectoryWithoutItsRecordIsRefused(recordKind: StoreTraits.RecordKind) throws {
        let test = try TestVault(recordKind: recordKind)
        let directory = try test.makeDirectory("folder")
        try test.store.unlink("lk.dir", in: directory.descriptor)
        #expect(throws: VaultError.damaged("the directory record is missing")) {
            try test.vault.openDirectory("folder", in: test.root)
        }
    }

    @Test func foreignNamesAreNotShownAndKeepTheDirectory() throws {
        let test = try TestVault()
        let directory = try test.makeDirectory("folder")
        let foreign = try test.store.open("file.sync-conflict", in: directory.descriptor, OpenFlags.create, mode: 0o600)
        _ = foreign
        #expect(try test.names(in: directory).isEmpty)
        #expect(throws: VaultError.system(.ENOTEMPTY)) { try test.vault.removeDirectory("folder", in: test.root) }
        #expect(try test.names() == ["folder"])
    }

    @Test func symbolicLinksKeepTheirTargets() throws {
        let test = try TestVault()
        for (index, count) in [1, 100, 3000].enumerated() {
            let target = [UInt8](repeating: 0x2F, count: count)
            let name = Name(bytes: "link\(index)".utf8)!
            try test.vault.makeSymbolicLink(to: target, name, in: test.root, user: 0, group: 0)
            #expect(try test.vault.readSymbolicLink(name, in: test.root) == target)
            #expect(try test.vault.status(of: name, in: test.root).size == Int64(count))
        }
    }

    @Test func bindingsTieFilesToTheirNames() throws {
        let test = try TestVault()
        _ = try test.create("a")
        _ = try test.create("b")
        let a = try test.vault.storedName("a", in: test.root).name
        let b = try test.vault.storedName("b", in: test.root).name
        try test.store.rename(a, in: test.store.root, to: b, in: test.store.root)
        #expect(throws: VaultError.damaged("the file here belongs to another name")) {
            try test.vault.lookup("b", in: test.root)
        }
    }

    @Test func aRenameTakesOverTheReplacedFilesClass() throws {
        let test = try TestVault()
        let old = try test.create("document")
        try old.setClass(.complete)
        let new = try test.create("document.new")
        try new.write([1, 2, 3], at: 0)
        try new.persistLength()
        try test.rename("document.new", to: "document")
        let saved = try test.vault.openFile("document", in: test.root)
        #expect(saved.header.protectionClass == .complete)
        #expect(saved.header.flags == [.explicitClass, .numberedBlocks])
        #expect(try saved.contents(3) == [1, 2, 3])

        // From another directory a weaker class is not taken over.
        let folder = try test.makeDirectory("folder")
        try test.create("target", in: folder).setClass(.none)
        try test.rename("document", to: "target", in: test.root, newParent: folder)
        #expect(try test.vault.openFile("target", in: folder).header.protectionClass == .complete)
    }

    @Test func anEmptyFileGetsANewKeyWithAStricterClass() throws {
        let test = try TestVault()
        let file = try test.create("file")
        let key = try test.ring.unwrap(file.wrapped, file: file.identifier, class: file.protectionClass)
        try file.setClass(.complete)
        let stricter = try test.ring.unwrap(file.wrapped, file: file.identifier, class: .complete)
        let isSame = key.equals(stricter)
        #expect(!isSame)
        try file.write([1], at: 0)
        try file.setClass(.none)
        let weaker = try test.ring.unwrap(file.wrapped, file: file.identifier, class: .none)
        let isKept = stricter.equals(weaker)
        #expect(isKept)
        #expect(try file.contents(1) == [1])
    }

    @Test func sideFilesOfSQLite() throws {
        let test = try TestVault()
        try test.create("db").setClass(.complete)
        #expect(try test.vault.classOfNewFile("db-wal", in: test.root) == .complete)
        #expect(try test.vault.classOfNewFile("db-journal", in: test.root) == .complete)
        #expect(try test.vault.classOfNewFile("db-shm", in: test.root) == .completeUntilFirstUserAuthentication)
        #expect(try test.vault.classOfNewFile("other-wal", in: test.root) == .completeUntilFirstUserAuthentication)
        try test.create("open").setClass(.none)
        #expect(try test.vault.classOfNewFile("open-shm", in: test.root) == .none)
        #expect(try test.vault.classOfNewFile("-wal", in: test.root) == .completeUntilFirstUserAuthentication)
    }

    @Test func attributesAreEncryptedAndBoundToTheirFile() throws {
        let test = try TestVault()
        let file = try test.create("file")
        let owner = AttributeOwner.file(file)
        let name = Array("user.secret".utf8)
        try test.vault.setAttribute(name, to: [1, 2, 3], flags: 0, of: owner)
        try test.vault.setAttribute(Array("user.empty".utf8), to: [], flags: 0, of: owner)
        #expect(try test.vault.attribute(name, of: owner) == [1, 2, 3])
        #expect(try test.vault.attribute(Array("user.empty".utf8), of: owner) == [])
        #expect(Set(try test.vault.attributeNames(of: owner)) == [name, Array("user.empty".utf8)])
        let stored = try test.store.attributeNames(of: file.descriptor)
        #expect(stored.allSatisfy { $0.hasPrefix("user.lk.") && !$0.contains("secret") })

        let other = try test.create("other")
        for name in stored {
            try test.store.setAttribute(
                name, to: try test.store.attribute(name, of: file.descriptor), of: other.descriptor)
        }
        #expect(try test.vault.attributeNames(of: .file(other)).isEmpty)
        #expect(throws: VaultError.system(.ENODATA)) { try test.vault.attribute(name, of: .file(other)) }
        try test.vault.removeAttribute(name, of: owner)
        #expect(throws: VaultError.system(.ENODATA)) { try test.vault.attribute(name, of: owner) }
    }

    /// Each change of a rename fails once: the file is at one of its two names, whole.
    @Test(arguments: 1...8) func aRenameThatFailsAtAnyCallLosesNothing(call: Int) throws {
        var faults: FaultInjectingStore!
        let test = try TestVault { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let file = try test.create("old")
        try file.write([4, 5, 6], at: 0)
        try file.synchronize(dataOnly: false)
        faults.faults.fail(nil, nth: call, with: .EIO)
        try? test.rename("old", to: "new")
        faults.faults.clear()
        let name: Name = try test.names() == ["new"] ? "new" : "old"
        #expect(try test.names() == [name.description])
        #expect(try test.vault.openFile(name, in: test.root).contents(3) == [4, 5, 6])
    }
}

extension File {
    fileprivate var wrapped: FileKeyWrap {
        let header = header
        return FileKeyWrap(algorithm: header.protection.wrapAlgorithm, bytes: header.protection.wrap)
    }
}

@Suite struct LinkedTakeoverTests {
    /// One of two links is renamed over a file of another class, and the other link is the first to be opened after a
    /// crash.
    @Test(arguments: [ProtectionClass.complete, .none]) func neverEndsInAWeakerClass(taken: ProtectionClass) throws {
        let test = try TestVault()
        let file = try test.create("one")
        try file.write([1], at: 0)
        try test.vault.link("one", in: test.root, file: file, to: "two", in: test.root)
        try test.create("target").setClass(taken)
        try test.vault.synchronize()
        try test.rename("one", to: "target")
        #expect(file.protectionClass == taken)
        let (vault, root) = try test.afterDeath()
        let stricter = min(taken, .completeUntilFirstUserAuthentication)
        for name in ["two", "target"] as [Name] {
            #expect(try vault.openFile(name, in: root).protectionClass == stricter)
        }
    }
}

@Suite struct StaleNameTests {
    /// A file that is opened under a name which now belongs to another file must not write that file's header.
    @Test func anotherFileUnderTheNameIsStaleAndUntouched() throws {
        let test = try TestVault()
        let file = try test.create("a")
        let other = try test.create("b")
        _ = try other.beginMove(
            to: test.vault.binding(of: "c", in: test.root), in: test.root.identifier, taking: nil,
            replacing: nil, isRename: true)
        let before = other.header
        #expect(throws: VaultError.system(.ESTALE)) {
            try test.vault.openFile("b", in: test.root, expecting: (file.identifier, file.identity.inode))
        }
        let opened = try test.vault.lookup("b", in: test.root)
        guard case .file(let after) = opened.details else { throw VaultError.system(.EIO) }
        #expect(after == before)
    }

    /// The header is written and only its time is not set: memory and disk must agree.
    @Test func aHeaderWhoseTimeCannotBeSetIsChangedAllTheSame() throws {
        var faults: FaultInjectingStore!
        let test = try TestVault { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        let file = try test.create("file")
        faults.faults.fail(.setTimes, with: .EPERM)
        try file.setClass(.complete)
        faults.faults.clear()
        try file.write([1, 2], at: 0)
        try file.persistLength()
        let again = try test.vault.openFile("file", in: test.root)
        #expect(again.protectionClass == .complete)
        #expect(try again.contents(2) == [1, 2])
    }
}
