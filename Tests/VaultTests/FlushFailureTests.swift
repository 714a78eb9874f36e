import Format
import Posix
import TestStores
import Testing
import Writeback

@testable import Vault

/// The kernel reports a failed writeback once, and then takes the pages for clean.
@Suite struct FlushFailureTests {
    private func scene() throws -> (test: TestVault, faults: FaultPlan) {
        let test = try TestVault { FaultInjectingStore($0) }
        return (test, try #require(test.store as? FaultInjectingStore).faults)
    }

    /// After the failure was reported, to a checkpoint or to a sync, no later sync of this file succeeds; other files
    /// go on.
    @Test(arguments: ["checkpointing", "fdatasync", "fsync"]) func noLaterSyncSucceeds(first: String) throws {
        let (test, faults) = try scene()
        let (file, other) = (try test.create("file"), try test.create("other"))
        try file.write([1], at: 0)
        try file.synchronize(dataOnly: false)
        try other.write([1], at: 0)
        try file.write([UInt8](repeating: 2, count: 600_000), at: 4096)
        faults.fail(.synchronize, with: .ENOSPC)
        #expect(throws: VaultError.system(.ENOSPC)) {
            switch first {
            case "checkpointing": try test.vault.checkpoint { [file] }
            case "fsync": try file.synchronize(dataOnly: false)
            default: try file.synchronize(dataOnly: true)
            }
        }
        for _ in 0..<2 {
            for dataOnly in [true, false] {
                #expect(throws: VaultError.system(.ENOSPC)) { try file.synchronize(dataOnly: dataOnly) }
            }
            #expect(throws: VaultError.system(.ENOSPC)) { try test.vault.checkpoint { [file] } }
        }
        #expect(faults.injected == 1)
        try other.synchronize(dataOnly: false)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).header.length <= 4096)
        #expect(try vault.openFile("other", in: root).contents(10) == [1])
    }

    /// A flush of everything succeeds, but not for a file whose own flush has failed: that file is not checkpointed,
    /// and the checkpoint's caller gets an error.
    @Test func aFlushOfAllDoesNotHideIt() throws {
        let (test, faults) = try scene()
        let files = try (0..<100).map { try test.create(Name(bytes: "\($0)".utf8)!) }
        for file in files { try file.write([1], at: 0) }
        faults.fail(.synchronize, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try test.vault.checkpoint { [files[7]] } }
        #expect(throws: VaultError.system(.EIO)) { try test.vault.checkpoint { files } }
        #expect(files.count { $0.header.length == 1 } == 99)
        #expect(throws: VaultError.system(.EIO)) { try test.vault.close() }
    }

    /// A failed flush of everything says nothing of a single file: from then on each file is flushed by itself.
    @Test func eachIsAskedAfterAFlushOfAllFailed() throws {
        let (test, faults) = try scene()
        let files = try (0..<100).map { try test.create(Name(bytes: "\($0)".utf8)!) }
        for file in files { try file.write([1], at: 0) }
        faults.fail(.synchronizeAll, with: .EIO)
        faults.fail(.synchronize, nth: 50, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try test.vault.checkpoint { files } }
        #expect(faults.injected == 2)
        #expect(files.count { $0.header.length == 1 } == 99)
        let bad = try #require(files.first { $0.header.length == 0 })
        for file in files { try file.write([2], at: 0) }
        #expect(throws: VaultError.system(.EIO)) { try test.vault.checkpoint { files } }
        #expect(throws: VaultError.system(.EIO)) { try bad.synchronize(dataOnly: false) }
    }

    /// Bytes that the backing file may have lost are not copied into the journal either.
    @Test(arguments: [true, false]) func bytesThatACheckpointCouldNotFlushAreNotConfirmed(isNew: Bool) throws {
        let (test, faults) = try scene()
        let file = try test.create("file")
        if !isNew {
            try file.write([1], at: 0)
            try file.synchronize(dataOnly: false)
        }
        try file.write([UInt8](repeating: 2, count: 5000), at: 4096)
        faults.fail(.synchronize, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try test.vault.checkpoint { [file] } }
        for dataOnly in [true, false] {
            #expect(throws: VaultError.system(.EIO)) { try file.synchronize(dataOnly: dataOnly) }
        }
        if isNew { #expect(throws: VaultError.system(.EIO)) { try test.vault.synchronize(test.root) } }
        #expect(faults.injected == 1)
    }

    /// The same for a folder: what its names depend on stays, and the files of other folders are checkpointed.
    @Test func aFolderIsNotTakenForFlushed() throws {
        let (test, faults) = try scene()
        let folder = try test.makeDirectory("folder")
        let (file, other) = (try test.create("file", in: folder), try test.create("other"))
        try test.vault.synchronize()
        try test.rename("file", to: "renamed", in: folder)
        try other.write([1], at: 0)
        faults.fail(.synchronize, with: .EIO)
        for _ in 0..<2 {
            #expect(throws: VaultError.system(.EIO)) { try test.vault.checkpoint { [file, other] } }
            #expect(throws: VaultError.system(.EIO)) { try test.vault.synchronize(folder) }
        }
        #expect(faults.injected == 1)
        #expect(file.lock.withShared { file.state.header.bindings.count } == 2)
        #expect(other.header.length == 1)
        try test.vault.synchronize(test.makeDirectory("another"))
        // Nor is it reported at the end.
        #expect(throws: VaultError.system(.EIO)) { try test.vault.close() }
    }

    /// A header that was written at the second attempt only: records that the journal gets from then on are for that
    /// header.
    @Test func aHeaderWrittenAtTheSecondAttempt() throws {
        let (test, faults) = try scene()
        let file = try test.create("file")
        try file.write([1, 1], at: 0)
        try file.synchronize(dataOnly: false)
        try file.write([2], at: 0)
        try file.synchronize(dataOnly: true)
        // The first write is the block.
        faults.fail(.write, nth: 2, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try file.synchronize(dataOnly: false) }
        #expect(faults.injected == 1)
        try file.write([3], at: 1)
        try file.synchronize(dataOnly: true)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(10) == [2, 3])
    }

    /// A large file was truncated and can no longer be checkpointed: it needs more protection than the journal has room
    /// for.
    @Test func aTruncationThatCannotBeCheckpointed() throws {
        let (test, faults) = try scene()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 20 << 20), at: 0)
        try file.synchronize(dataOnly: false)
        faults.fail(.synchronize, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try file.synchronize(dataOnly: false) }
        try file.truncate(to: 0)
        #expect(throws: VaultError.system(.EIO)) { try file.write([2], at: 19 << 20) }
        let other = try test.create("other")
        try other.write([3], at: 0)
        try other.synchronize(dataOnly: false)
    }

    /// It can still be replaced, as by an editor.
    @Test func aYoungFileThatCannotBeCheckpointedIsReplaced() throws {
        let (test, faults) = try scene()
        let file = try test.create("file")
        try file.write([1], at: 0)
        try file.synchronize(dataOnly: true)
        try file.write([UInt8](repeating: 2, count: 600_000), at: 4096)
        faults.fail(.synchronize, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try file.synchronize(dataOnly: true) }
        let new = try test.create("new")
        try new.write([3], at: 0)
        try new.synchronize(dataOnly: false)
        try test.rename("new", to: "file")
        try test.vault.synchronize(test.root)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(10) == [3])
    }

    /// A flush of everything proves nothing of a folder whose own flush has failed.
    @Test func aFlushOfAllDoesNotHideAFolder() throws {
        let (test, faults) = try scene()
        let folder = try test.makeDirectory("folder")
        let file = try test.create("file", in: folder)
        try test.vault.synchronize()
        try test.rename("file", to: "renamed", in: folder)
        faults.fail(.synchronize, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try test.vault.synchronize(folder) }
        let others = try (0..<100).map { try test.create(Name(bytes: "\($0)".utf8)!) }
        for other in others { try other.write([1], at: 0) }
        #expect(throws: VaultError.system(.EIO)) { try test.vault.checkpoint { others + [file] } }
        #expect(file.lock.withShared { file.state.header.bindings.count } == 2)
        #expect(others.allSatisfy { $0.header.length == 1 })
    }

    /// A flush of its folder, not one of the whole disk, proves that a file has lost its last name.
    @Test func aRemovalTakesOneFolder() throws {
        let (test, faults) = try scene()
        let made = try test.create("file", in: test.makeDirectory("folder"))
        try made.write([UInt8](repeating: 1, count: 4096), at: 0)
        try test.vault.synchronize()
        let (vault, root) = try test.afterDeath()
        let folder = try vault.openDirectory("folder", in: root)
        do {
            let file = try vault.openFile("file", in: folder)
            try file.write([UInt8](repeating: 2, count: 4096), at: 4096)
            try file.synchronize(dataOnly: true)
        }
        try vault.unlink("file", in: folder)
        faults.fail(.synchronizeAll, with: .EIO, lasts: true)
        try vault.checkpoint()
        #expect(vault.isCheckpointed)
        #expect(faults.injected == 0)
    }

    /// Whatever fails in a rename that would have given another class: the file keeps its class.
    @Test(arguments: [FaultKind.flush, .write], 1...8) func aRenameThatFailedChangesNoClass(kind: FaultKind, nth: Int)
        throws
    {
        let (test, faults) = try scene()
        let file = try test.create("file")
        try file.write([1], at: 0)
        try file.synchronize(dataOnly: true)
        let target = try test.create("target", ProtectionClass.none)
        try target.setClass(.none)
        try test.vault.synchronize(test.root)
        try file.write([2], at: 0)
        faults.fail(kind == .flush ? .synchronize : .write, nth: nth, with: .EIO)
        let isRenamed = (try? test.rename("file", to: "target")) != nil
        faults.clear()
        try? test.vault.checkpoint()
        let expected: ProtectionClass = isRenamed ? .none : .completeUntilFirstUserAuthentication
        #expect(file.protectionClass == expected)
        let (vault, root) = try test.afterDeath()
        let found = try vault.openFile(isRenamed ? "target" : "file", in: root)
        #expect(found.protectionClass == expected)
        #expect(found.lock.withShared { found.state.header.bindings.count } == 1)
    }

    enum FaultKind { case flush, write }
}

/// A store that gives up waiting has not failed: what it was asked to make durable can be made so later.
@Suite struct GivenUpFlushTests {
    private func scene() throws -> (test: TestVault, faults: FaultPlan) {
        let test = try TestVault { FaultInjectingStore($0) }
        return (test, try #require(test.store as? FaultInjectingStore).faults)
    }

    /// Each flush is given up once, and all bytes are there after a crash that follows a later sync.
    @Test(arguments: [true, false], [10, 600_000]) func laterSyncsSucceed(dataOnly: Bool, count: Int) throws {
        let (test, faults) = try scene()
        let file = try test.create("file")
        try file.write([1], at: 0)
        try file.synchronize(dataOnly: false)
        try file.write([UInt8](repeating: 2, count: count), at: 4096)
        for nth in 1...3 {
            faults.fail(.synchronize, nth: nth, with: .notAnswered)
            try? file.synchronize(dataOnly: dataOnly)
            faults.clear()
        }
        try file.synchronize(dataOnly: dataOnly)
        #expect(faults.injected > 0)
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).header.length == UInt64(4096 + count))
    }

    /// A flush of all files, or of a folder.
    @Test func laterFlushesOfAllSucceed() throws {
        let (test, faults) = try scene()
        let file = try test.create("file")
        try file.write([1], at: 0)
        for kind in [Operation.Kind.synchronizeAll, .synchronize] {
            faults.fail(kind, with: .notAnswered)
            #expect(throws: VaultError.system(.notAnswered)) {
                if kind == .synchronizeAll { try test.vault.flushAll() } else { try test.vault.synchronize(test.root) }
            }
        }
        try test.vault.synchronize(test.root)
        try test.vault.flushAll()
        #expect(faults.injected == 2)
    }

    /// The store takes records whose append was given up: a crash finds the later ones, and none of those.
    @Test(arguments: [1, 3], [1, 2]) func recordsThatWereGivenUpAreNotFound(blocks: Int, later: Int) throws {
        let (test, faults) = try scene()
        let (file, other) = (try test.create("file"), try test.create("other"))
        for file in [file, other] {
            try file.write([UInt8](repeating: 1, count: 4 * 4096), at: 0)
            try file.synchronize(dataOnly: false)
            try file.write([9], at: 0)
            try file.synchronize(dataOnly: true)
        }
        // The bytes lie in the journal, and the program is told that they do not.
        faults.fail(.write, with: .notAnswered, effect: .whole)
        #expect(throws: VaultError.system(.notAnswered)) {
            try file.write([UInt8](repeating: 2, count: blocks * 4096), at: 4096)
        }
        #expect(faults.injected == 1)
        #expect(try file.contents(4 * 4096) == [9] + [UInt8](repeating: 1, count: 4 * 4096 - 1))
        for _ in 0..<later {
            try other.write([3], at: 4096)
            try other.synchronize(dataOnly: true)
        }
        let (vault, root) = try test.afterDeath()
        #expect(
            try vault.openFile("file", in: root).contents(4 * 4096) == [9] + [UInt8](repeating: 1, count: 4 * 4096 - 1))
        #expect(try vault.openFile("other", in: root).contents(4097).last == 3)
    }
}
