import Format
import Foundation
import Glibc
import Posix
import Synchronization
import TestStores
import Testing

@testable import Vault

// <sys/fsuid.h>, which Glibc's module leaves out.
@_silgen_name("setfsuid") @discardableResult private func setfsuid(_ user: uid_t) -> Int32
@_silgen_name("setfsgid") @discardableResult private func setfsgid(_ group: gid_t) -> Int32

/// The vault of a daemon whose only privilege is that it owns the files.
@Suite struct OrdinaryUserTests {
    /// Runs `body` on this thread as an ordinary user; if the tests run as an ordinary user, as that one.
    ///
    /// Source: setfsuid(2), which acts on this thread alone and drops the capabilities that concern files.
    private func asOrdinaryUser<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard geteuid() == 0 else { return try body() }
        setfsgid(65_534)
        setfsuid(65_534)
        defer {
            setfsuid(0)
            setfsgid(0)
        }
        return try body()
    }

    private func mode(of name: Name, in test: TestVault) throws -> UInt32 {
        try test.vault.lookup(name, in: test.root).status.permissions
    }

    /// The journal is replayed into a file whatever the modes of the file and of the folders above it are, also when
    /// the file's path was not recorded.
    @Test(arguments: [0o000, 0o100, 0o300, 0o700] as [UInt32], [false, true])
    func theJournalIsReplayedInAnyFolder(mode: UInt32, isWithoutPath: Bool) throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            let folder = try test.makeDirectory("folder")
            let file = try test.create("file", in: folder)
            try file.write([1, 2, 3], at: 0)
            if isWithoutPath {
                try test.vault.link("file", in: folder, file: file, to: "other", in: folder)
                try test.vault.unlink("file", in: folder)
            }
            try test.vault.checkpoint()
            try file.setMode(0o444)
            try test.vault.setMode(mode, of: folder)
            try file.write([4], at: 1)
            try file.synchronize(dataOnly: true)
            let (vault, root) = try test.afterDeath()
            let found = try vault.openDirectory("folder", in: root)
            #expect(try vault.status(of: found).permissions == mode)
            try vault.setMode(0o700, of: found)
            #expect(try vault.openFile(isWithoutPath ? "other" : "file", in: found).contents(10) == [1, 4, 3])
        }
    }

    /// A directory that was moved aside as a tombstone is looked for in any folder, whether it is to be put back or
    /// removed.
    @Test(arguments: [0o000, 0o100, 0o300, 0o500, 0o600] as [UInt32], [false, true])
    func aTombstoneIsPutBackInAnyFolder(mode: UInt32, isCrash: Bool) throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            let (outer, folder) = (try test.makeDirectory("outer"), try test.makeDirectory("folder"))
            let inner = try test.makeDirectory("inner", in: outer)
            _ = try test.makeDirectory("replaced", in: inner)
            if isCrash {
                let stored = try test.vault.storedName("replaced", in: inner)
                _ = try test.vault.moveAside(stored, in: inner, noting: true)
            } else {
                try test.vault.rename(
                    test.vault.renameEnd("folder", in: test.root), .directory(folder),
                    to: test.vault.renameEnd("replaced", in: inner), replaced: nil, RenameKind())
            }
            try test.vault.setMode(mode, of: inner)
            try test.vault.setMode(mode, of: outer)
            let (vault, root) = try test.afterDeath()
            let found = try vault.openDirectory("outer", in: root)
            #expect(try vault.status(of: found).permissions == mode)
            try vault.setMode(0o700, of: found)
            let within = try vault.openDirectory("inner", in: found)
            try vault.setMode(0o700, of: within)
            _ = try vault.openDirectory("replaced", in: within)
        }
    }

    /// A sync of the folder flushes a directory that was made in it, whatever its mode is.
    @Test func aFolderWithoutPermissionsIsFlushedWithItsParent() throws {
        try asOrdinaryUser {
            let flushed = FlushedInodes()
            let test = try TestVault(isPrivileged: false) { InterceptingStore($0, hook: flushed) }
            let folder = try test.makeDirectory("folder")
            let inode = try test.vault.status(of: folder).inode
            try test.vault.setMode(0o000, of: folder)
            flushed.beforeTheNext {}
            try test.vault.synchronize(test.root)
            #expect(flushed.inodes.contains(inode))
            #expect(try test.vault.status(of: folder).permissions == 0)
        }
    }

    @Test func aFileThatMayOnlyBeReadIsNotTouchedByReading() throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            do {
                let file = try test.create("file")
                try file.write([1, 2, 3], at: 0)
                try file.persistLength()
                try file.setMode(0o444)
            }
            let before = try test.vault.lookup("file", in: test.root).status
            #expect(before.permissions == 0o444)
            let file = try test.vault.openFile("file", in: test.root)
            #expect(try file.contents(3) == [1, 2, 3])
            #expect(try file.status().changed == before.changed)
        }
    }

    @Test(arguments: [0o444, 0o000, 0o200, 0o400, 0o644] as [UInt32])
    func aFileOfAnyModeIsRenamedLinkedAndGivenAClass(mode: UInt32) throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            do {
                let file = try test.create("file")
                try file.write([1, 2, 3], at: 0)
                try file.persistLength()
                try file.setMode(mode)
            }
            try test.rename("file", to: "renamed")
            let file = try test.vault.openFile("renamed", in: test.root)
            try file.setClass(.complete)
            try test.vault.link("renamed", in: test.root, file: file, to: "second", in: test.root)
            #expect(try self.mode(of: "renamed", in: test) == mode)
            #expect(try test.vault.openFile("second", in: test.root).header.protectionClass == .complete)
            #expect(try file.contents(3) == [1, 2, 3])
        }
    }

    @Test func aFileThatHasNoNameAnyMoreIsStillWritten() throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            try test.create("file").setMode(0o444)
            let file = try test.vault.openFile("file", in: test.root)
            try test.vault.unlink("file", in: test.root)
            try file.setClass(.complete)
            #expect(file.header.protectionClass == .complete)
            #expect(try file.status().permissions == 0o444)
        }
    }

    enum LaterWrite: CaseIterable { case blocks, hole, truncate, replay, sync }

    /// What was written before chmod(2) is checkpointed after it.
    @Test(arguments: LaterWrite.allCases) func whatIsPutInPlaceLaterTakesNoSetID(_ later: LaterWrite) throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            let file = try test.create("program")
            try file.write([UInt8](repeating: 1, count: 600_000), at: 0)
            try file.synchronize(dataOnly: false)
            switch later {
            case .blocks, .replay, .sync: try file.write([UInt8](repeating: 2, count: 9000), at: 100)
            case .hole: try file.punch(4096..<40_960)
            case .truncate: try file.truncate(to: 500_000)
            }
            if later == .replay { try file.synchronize(dataOnly: true) }
            try file.setMode(0o6755)
            if later == .replay {
                let (vault, root) = try test.afterDeath()
                #expect(try vault.lookup("program", in: root).status.permissions == 0o6755)
                return
            }
            if later == .sync { try file.synchronize(dataOnly: false) } else { try test.vault.checkpoint() }
            #expect(try self.mode(of: "program", in: test) == 0o6755)
        }
    }

    @Test func aHeaderWriteKeepsSetID() throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            let file = try test.create("program")
            try file.write([1], at: 0)
            try file.setMode(0o4755)
            try file.persistLength()
            try test.rename("program", to: "renamed")
            #expect(try self.mode(of: "renamed", in: test) == 0o4755)
            try file.write([2], at: 0)
            #expect(try self.mode(of: "renamed", in: test) == 0o755)
        }
    }

    @Test(
        arguments: [0o555, 0o000, 0o111, 0o400, 0o600] as [UInt32],
        [.symbolicLink, .file] as [StoreTraits.RecordKind])
    func aFolderOfAnyModeIsOpenedRenamedGivenAClassAndRemoved(
        mode: UInt32, recordKind: StoreTraits.RecordKind
    ) throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false, recordKind: recordKind)
            do { try test.vault.setMode(mode, of: try test.makeDirectory("folder")) }
            let before = try test.vault.lookup("folder", in: test.root).status
            try test.rename("folder", to: "renamed")
            let folder = try test.vault.openDirectory("renamed", in: test.root)
            try test.vault.setDefaultClass(.complete, isExplicit: true, of: folder)
            #expect(try test.vault.openDirectory("renamed", in: test.root).record.defaultClass == .complete)
            #expect(try test.names(in: folder).isEmpty)
            let after = try test.vault.status(of: folder)
            #expect(after.permissions == mode)
            #expect(after.modified == before.modified)
            try test.vault.removeDirectory("renamed", in: test.root)
            #expect(try test.backingNames.sorted() == ["lk.dir", "lk.journal"])
        }
    }

    @Test func aFolderThatMayBeListedIsNotTouchedByOpening() throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            do { try test.vault.setMode(0o555, of: try test.makeDirectory("folder")) }
            let before = try test.vault.lookup("folder", in: test.root).status
            let folder = try test.vault.openDirectory("folder", in: test.root)
            #expect(try test.names(in: folder).isEmpty)
            #expect(try test.vault.status(of: folder).changed == before.changed)
            try test.vault.removeDirectory("folder", in: test.root)
        }
    }

    @Test func aVaultThatIsOnlyReadLendsNothing() throws {
        try asOrdinaryUser {
            let test = try TestVault(isPrivileged: false)
            try test.create("file").setMode(0)
            let vault = Vault(
                store: test.store, keys: test.vault.keys, ring: test.ring, traits: test.vault.traits,
                isReadOnly: true, isPrivileged: false)
            #expect(throws: VaultError.system(.EACCES)) { try vault.openFile("file", in: test.root) }
        }
    }

    /// Many threads widen modes for a moment and read them, while the owner sets other modes: no access is refused, no
    /// set mode is lost, and stat(2) shows no mode that was not set.
    @Test func whatIsLentIsNeitherSeenNorLost() throws {
        let test = try asOrdinaryUser { try TestVault(isPrivileged: false) }
        try asOrdinaryUser { try test.create("file").setMode(0) }
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            asOrdinaryUser {
                do {
                    for turn in 0..<200 {
                        let mode: UInt32 = turn % 2 == 0 ? 0 : 0o044
                        if thread == 0 {
                            try test.vault.setMode(mode, of: "file", in: test.root)
                            guard try test.vault.status(of: "file", in: test.root).permissions == mode else {
                                throw VaultError.damaged("a set mode is lost")
                            }
                        } else {
                            let seen = try test.vault.lookup("file", in: test.root).status.permissions
                            guard seen == 0 || seen == 0o044 else { throw VaultError.damaged("a lent mode is seen") }
                        }
                    }
                } catch { failures.withLock { $0.append("\(error)") } }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }
}
