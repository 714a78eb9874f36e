import Format
import Foundation
import Posix
import Store
import TestStores
import Testing

@testable import Vault

@Suite struct JournalTests {
    /// What was synced reads back after the daemon's death, overwritten bytes too.
    @Test func overwrittenBlocksReadBack() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 10_000), at: 0)
        try file.synchronize(dataOnly: true)
        try file.write([UInt8](repeating: 2, count: 5000), at: 3000)
        try file.synchronize(dataOnly: true)
        let (vault, root) = try test.afterDeath()
        let contents = try vault.openFile("file", in: root).contents(20_000)
        #expect(contents.count == 10_000)
        #expect(contents[3000..<8000].allSatisfy { $0 == 2 })
        #expect(contents[..<3000].allSatisfy { $0 == 1 } && contents[8000...].allSatisfy { $0 == 1 })
    }

    /// A crash that leaves a grown last block in the journal, without the header that tells its length.
    @Test(arguments: [24, 5000]) func aBlockWithoutItsHeaderDoesNotCount(count: Int) throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 176), at: 0)
        try file.synchronize(dataOnly: true)
        try file.write([UInt8](repeating: 2, count: count), at: 176)
        try removeLastRecord(of: test)
        let (vault, root) = try test.afterDeath()
        let contents = try vault.openFile("file", in: root).contents(20_000)
        #expect(Array(contents.prefix(176)) == [UInt8](repeating: 1, count: 176))
        #expect(contents.dropFirst(176).allSatisfy { $0 == 0 || $0 == 2 })
    }

    /// A flush fails in the middle of a replay: the contents of the disk are unknown, and the next mount replays again.
    @Test func aReplayThatFailsIsDoneAgain() throws {
        for nth in 1...2 {
            let test = try TestVault { FaultInjectingStore($0) }
            let faults = try #require(test.store as? FaultInjectingStore).faults
            let file = try test.create("file")
            try file.write([UInt8](repeating: 1, count: 10_000), at: 0)
            try test.vault.checkpoint()
            try file.write([UInt8](repeating: 2, count: 5000), at: 3000)
            try file.synchronize(dataOnly: true)
            let name = try test.vault.storedName("file", in: test.root).name
            let path = test.path + "/" + name.description
            let before = try #require(FileManager.default.contents(atPath: path)).prefix(512)
            faults.fail(.synchronize, nth: nth, with: .EIO)
            #expect(throws: VaultError.system(.EIO)) { _ = try test.afterDeath() }
            #expect(try #require(FileManager.default.contents(atPath: path)).prefix(512) == before)
            let (vault, root) = try test.afterDeath()
            let contents = try vault.openFile("file", in: root).contents(20_000)
            #expect(contents[3000..<8000].allSatisfy { $0 == 2 } && contents.count == 10_000)
            #expect(try #require(FileManager.default.contents(atPath: path)).prefix(512) != before)
        }
    }

    /// Contents that a crash left unproven read without a write, as on a full disk.
    @Test func aFileOpensAfterACrashOnAFullDisk() throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 5000), at: 0)
        try file.synchronize(dataOnly: true)
        try file.write([UInt8](repeating: 2, count: 9000), at: 5000)
        try file.persistLength()
        let (vault, root) = try test.afterDeath()
        let name = try vault.storedName("file", in: root).name
        let backing = try test.store.open(name, in: test.store.root, OpenFlags.readWrite, mode: 0)
        try unsafe test.store.write(
            [UInt8](repeating: 0, count: 4128).span.bytes, to: backing,
            at: Int64(BlockGeometry.backingOffset(ofBlock: 2)))

        faults.fail([.write, .allocate], with: .ENOSPC, effect: .half, lasts: true)
        let opened = try vault.openFile("file", in: root)
        for _ in 0..<2 {
            let modified = try opened.status().modified
            try opened.loadKey()
            let contents = try opened.contents(20_000)
            #expect(Array(contents.prefix(5000)) == [UInt8](repeating: 1, count: 5000))
            #expect(contents[8192..<12_288].allSatisfy { $0 == 0 })
            #expect(try opened.status().modified == modified)
            #expect(throws: VaultError.system(.ENOSPC)) { try opened.write([3], at: 9000) }
        }
        #expect(faults.injected > 0)
        faults.clear()
        // What no header confirms is not called durable.
        try opened.synchronize(dataOnly: true)
        #expect(opened.header.length == 14_000)
        try opened.loadKey()
        try opened.write([3], at: 9000)
        #expect(try opened.contents(2, at: 8999) == [0, 3])
    }

    /// Bytes missing at the end of a sparse file are damage and no hole, also where a power loss has left something to
    /// repair behind them.
    @Test func whatIsTruncatedFromASparseFileIsDamage() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.truncate(to: 4 << 20)
        try file.write([UInt8](repeating: 1, count: 40_960), at: 2 << 20)
        try file.truncate(to: (2 << 20) + 40_960)
        try file.synchronize(dataOnly: false)
        try file.write([UInt8](repeating: 2, count: 9000), at: (2 << 20) + 40_960)
        try file.persistLength()
        let (vault, root) = try test.afterDeath()
        let name = try vault.storedName("file", in: root).name
        let backing = try test.store.open(name, in: test.store.root, OpenFlags.readWrite, mode: 0)
        try test.store.truncate(backing, to: Int64(BlockGeometry.backingOffset(ofBlock: 514)))
        let opened = try vault.openFile("file", in: root)
        try opened.loadKey()
        #expect(try opened.contents(8192, at: 2 << 20) == [UInt8](repeating: 1, count: 8192))
        #expect(throws: VaultError.self) { try opened.contents(100, at: (2 << 20) + 8192) }
        #expect(throws: VaultError.self) { try opened.write([3], at: (2 << 20) + 50_000) }
        #expect(throws: VaultError.self) { try opened.contents(100, at: (2 << 20) + 8192) }
    }

    /// Where the backing path is too long to be recorded, a file is found by its header alone: that must be on the
    /// disk.
    @Test func aNewFileWithoutAPathHasItsHeaderOnTheDisk() throws {
        let flushed = FlushedInodes()
        let test = try TestVault { InterceptingStore($0, hook: flushed) }
        var folder = test.root
        for _ in 0..<18 {
            folder = try test.makeDirectory(Name(bytes: [UInt8](repeating: 97, count: 170))!, in: folder)
        }
        let file = try test.create("file", in: folder)
        try file.write([1, 2, 3], at: 0)
        flushed.beforeTheNext {}
        try file.synchronize(dataOnly: true)
        #expect(flushed.inodes.contains(file.identity.inode))
    }

    /// Files are written to while the folders right above them are renamed, and are checkpointed when a folder above
    /// those is renamed.
    @Test func aFolderIsRenamedOverManyRenamedFolders() throws {
        let flushed = FlushedInodes()
        let test = try TestVault { InterceptingStore($0, hook: flushed) }
        let top = try test.makeDirectory("top")
        for number in 0..<3 {
            let folder = try test.makeDirectory(Name(bytes: "\(number)".utf8)!, in: top)
            let files = try (0..<10).map { try test.create(Name(bytes: "f\($0)".utf8)!, in: folder) }
            for file in files { try file.write([1], at: 0) }
            try test.vault.synchronize()
            // After the checkpoint of everything, with which a rename begins.
            flushed.beforeTheNext(of: try test.vault.status(of: folder).inode) {
                for file in files {
                    try file.write([2], at: 0)
                    try file.synchronize(dataOnly: true)
                }
            }
            try test.rename(Name(bytes: "\(number)".utf8)!, to: Name(bytes: "r\(number)".utf8)!, in: top)
        }
        try test.rename("top", to: "renamed")
        let (vault, root) = try test.afterDeath()
        let found = try vault.openDirectory("renamed", in: root)
        for number in 0..<3 {
            let folder = try vault.openDirectory(Name(bytes: "r\(number)".utf8)!, in: found)
            for index in 0..<10 {
                #expect(try vault.openFile(Name(bytes: "f\(index)".utf8)!, in: folder).contents(2) == [2])
            }
        }
    }

    /// The clock may have been set back when the next session begins.
    @Test func theWindowOfASessionHasAnEnd() {
        var head = JournalHead(volume: VolumeIdentifier([UInt8](1...16)), partSize: 4096)
        head.opened = 1000
        #expect(head.window(until: 2000, lastWritten: 1500) == JournalHead.Window(from: 998, to: 2002))
        #expect(head.window(until: 900, lastWritten: 1500) == JournalHead.Window(from: 998, to: 87_900))
        #expect(head.window(until: 5, lastWritten: -1) == JournalHead.Window(from: 998, to: 87_400))
    }

    /// A hole that was not synced may not have made the backing file longer; its blocks are not looked at one by one.
    @Test(arguments: [0, 1], [10 << 20, 1 << 43]) func aHoleThatACrashHasLeftUnproven(blocks: Int, length: UInt64)
        throws
    {
        let test = try TestVault()
        let name: Name
        do {
            let file = try test.create("file")
            name = try test.vault.storedName("file", in: test.root).name
            try file.write([UInt8](repeating: 1, count: 4096 * blocks), at: 0)
            try file.synchronize(dataOnly: false)
            try file.truncate(to: length)
            try file.write([2], at: length / 2)
            try file.persistLength()
            let backing = try test.store.open(name, in: test.root.descriptor, O_RDWR)
            try test.store.truncate(backing, to: Int64(BlockGeometry.backingSize(forLength: UInt64(4096 * blocks))))
        }
        let (vault, root) = try test.afterDeath()
        let file = try vault.openFile("file", in: root)
        try file.loadKey()
        #expect(file.length == length)
        #expect(
            try file.contents(5000) == [UInt8](repeating: 1, count: 4096 * blocks)
                + [UInt8](repeating: 0, count: 5000 - 4096 * blocks))
        for offset in [length / 2, length - 10] {
            #expect(try file.contents(10, at: offset) == [UInt8](repeating: 0, count: 10))
        }
        try file.synchronize(dataOnly: false)
        let (next, nextRoot) = try test.afterDeath()
        #expect(
            try next.openFile("file", in: nextRoot).contents(10, at: length / 2) == [UInt8](repeating: 0, count: 10))
    }

    /// A damaged block fails the reads of it alone: the file opens, also with an end that a crash left unproven, and
    /// can be truncated.
    @Test func aFileWithADamagedBlockOpensAfterACrash() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 5000), at: 0)
        try file.synchronize(dataOnly: true)
        try file.write([UInt8](repeating: 2, count: 9000), at: 5000)
        let (vault, root) = try test.afterDeath()
        let name = try vault.storedName("file", in: root).name
        let backing = try test.store.open(name, in: test.store.root, OpenFlags.readWrite, mode: 0)
        try unsafe test.store.write(
            [UInt8](repeating: 0, count: 8).span.bytes, to: backing,
            at: Int64(BlockGeometry.backingOffset(ofBlock: 1)))

        let opened = try vault.openFile("file", in: root)
        try opened.loadKey()
        var bytes = [UInt8](repeating: 0, count: 4096)
        #expect(try opened.contents(4096) == [UInt8](repeating: 1, count: 4096))
        #expect(throws: VaultError.self) {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            _ = try opened.read(into: &span, at: 4096)
        }
        try opened.truncate(to: 4096)
        try opened.write([3], at: 4096)
        #expect(try opened.contents(5000) == [UInt8](repeating: 1, count: 4096) + [3])
    }

    /// A header in an authentic record that a reader refuses counts for nothing.
    @Test func aRefusedHeaderInTheJournalDoesNotCount() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        try file.synchronize(dataOnly: true)
        try file.lock.withExclusive {
            let bytes = [UInt8](repeating: 7, count: FileHeader.byteCount)
            _ = try unsafe test.vault.openJournal().append(
                JournalRecord(.header, of: file.identifier, payloadCount: bytes.count), of: file.identity,
                bytes.span.bytes)
        }
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(10) == [1, 2, 3])
    }

    /// A read-only mount shows the journal that a crash has left, and changes nothing.
    @Test func aReadOnlyVaultShowsWhatTheJournalHas() throws {
        let test = try TestVault()
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        try file.synchronize(dataOnly: false)
        try file.write([4], at: 1)
        try file.synchronize(dataOnly: true)
        let vault = test.next(isReadOnly: true)
        let root = try vault.openRoot()
        #expect(try vault.openFile("file", in: root).contents(10) == [1, 4, 3])
    }

    /// Files that are written while a folder above them is renamed are found under the new name.
    @Test func aFolderIsRenamedOverFilesInTheJournal() throws {
        let test = try TestVault()
        let folder = try test.makeDirectory("folder")
        let file = try test.create("file", in: folder)
        try file.write([1, 2, 3], at: 0)
        try file.synchronize(dataOnly: true)
        try test.rename("folder", to: "other")
        try file.write([4], at: 1)
        try file.synchronize(dataOnly: true)
        let (vault, root) = try test.afterDeath()
        let other = try vault.openDirectory("other", in: root)
        #expect(try vault.openFile("file", in: other).contents(10) == [1, 4, 3])
    }

    /// A file that was unlinked while it was open: writes from then on read back, also where the journal has an older
    /// block from the time when the file had a name.
    @Test(arguments: [1, 60]) func aFileWithoutANameReadsWhatWasWritten(blocks: Int) throws {
        let test = try TestVault()
        let file = try test.create("file")
        for byte in [1, 2] as [UInt8] {
            try file.write([UInt8](repeating: byte, count: 4096), at: 0)
            try file.synchronize(dataOnly: true)
        }
        try file.write([UInt8](repeating: 3, count: blocks * 4096), at: 4096)
        try test.vault.unlink("file", in: test.root)
        try file.synchronize(dataOnly: true)
        try file.write([UInt8](repeating: 4, count: 4096), at: 0)
        try file.synchronize(dataOnly: true)
        let expected = [UInt8](repeating: 4, count: 4096) + [UInt8](repeating: 3, count: blocks * 4096)
        #expect(try file.contents(300_000) == expected)
        try test.vault.checkpoint()
        #expect(try file.contents(300_000) == expected)
    }

    /// A full disk stops a write to a file without a name: the old contents are there, holes too, or the new ones.
    @Test func aFileWithoutANameOnAFullDisk() throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 20_000), at: 0)
        try file.truncate(to: 1 << 20)
        try file.synchronize(dataOnly: false)
        try test.vault.checkpoint()
        try test.vault.unlink("file", in: test.root)
        for nth in 1...4 {
            for offset in [4000, 500_000] as [UInt64] {
                faults.fail(.write, nth: nth, with: .ENOSPC, effect: .half, lasts: true)
                for _ in 0..<4 { try? file.write([UInt8](repeating: 2, count: 9000), at: offset) }
                faults.clear()
                let contents = try file.contents(1 << 20)
                #expect(contents.count == 1 << 20)
                #expect(contents[..<4000].allSatisfy { $0 == 1 })
                #expect(contents[4000..<13_000].allSatisfy { $0 == 1 || $0 == 2 })
                #expect(contents[500_000..<509_000].allSatisfy { $0 == 0 || $0 == 2 })
                #expect(contents[509_000...].allSatisfy { $0 == 0 })
            }
        }
        #expect(faults.injected > 10)
    }

    /// Repeated flushes set the journal's time ahead of the clock; the next session goes on from that time. Otherwise a
    /// copy made then and one made now would look the same.
    @Test func theNextSessionGivesTheJournalAnotherTime() throws {
        let test = try TestVault()
        let file = try test.create("file")
        for byte in 0..<10 as Range<UInt8> {
            try file.write([byte], at: 0)
            try file.synchronize(dataOnly: true)
        }
        let before = try test.store.status(of: .journal, in: test.store.root).modified.seconds
        let (_, _) = try test.afterDeath()
        #expect(try test.store.status(of: .journal, in: test.store.root).modified.seconds > before)
    }

    /// Records that a disk refused may be there all the same, perhaps behind later ones: nothing is promised any more.
    @Test func theJournalIsNotUsedAfterARefusedRecord() throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let (file, other) = (try test.create("file"), try test.create("other"))
        for file in [file, other] {
            try file.write([1, 2, 3], at: 0)
            try file.synchronize(dataOnly: true)
        }
        faults.fail(.write, with: .EIO, effect: .whole)
        #expect(throws: VaultError.system(.EIO)) { try file.write([4], at: 1) }
        #expect(faults.injected == 1)
        #expect(throws: VaultError.system(.EIO)) { try other.write([4], at: 1) }
        let (vault, root) = try test.afterDeath()
        let contents = try vault.openFile("file", in: root).contents(10)
        #expect(contents == [1, 2, 3] || contents == [1, 4, 3])
        #expect(try vault.openFile("other", in: root).contents(10) == [1, 2, 3])
    }

    /// A copy may hold a header from before the last block grew beside the block from after that. The longer block is
    /// not truncated until the shorter one is durable: a power loss must find one of them.
    @Test func aGrownLastBlockIsNotTruncatedBeforeTheShorterOneIsDurable() throws {
        let test = try TestVault { FaultInjectingStore($0) }
        let faults = try #require(test.store as? FaultInjectingStore).faults
        let file = try test.create("file")
        try file.write([UInt8](repeating: 1, count: 100), at: 0)
        try file.synchronize(dataOnly: false)
        let name = try test.vault.storedName("file", in: test.root).name
        let backing = try test.store.open(name, in: test.store.root, OpenFlags.readWrite, mode: 0)
        var header = [UInt8](repeating: 0, count: FileHeader.byteCount)
        do {
            var elements = header.mutableSpan
            var bytes = unsafe elements.mutableBytes
            #expect(try test.store.read(backing, into: &bytes, at: 0) == FileHeader.byteCount)
        }
        try file.write([UInt8](repeating: 2, count: 100), at: 100)
        try test.vault.close()
        let size = try test.store.status(of: backing).size
        try unsafe test.store.write(header.span.bytes, to: backing, at: 0)

        let (vault, root) = try test.afterDeath()
        let opened = try vault.openFile("file", in: root)
        try opened.loadKey()
        faults.fail(.synchronize, with: .EIO, lasts: true)
        #expect(throws: VaultError.system(.EIO)) { try opened.write([3], at: 0) }
        #expect(try test.store.status(of: backing).size == size)
        faults.clear()
        let (next, nextRoot) = try test.afterDeath()
        #expect(try next.openFile("file", in: nextRoot).contents(200) == [UInt8](repeating: 1, count: 100))
    }

    private func removeLastRecord(of test: TestVault) throws {
        let url = URL(fileURLWithPath: test.path).appendingPathComponent("lk.journal")
        var bytes = try Data(contentsOf: url)
        let last = try #require(bytes.lastIndex { $0 != 0 })
        let end = last / JournalRecord.alignment * JournalRecord.alignment + JournalRecord.alignment
        let size = JournalRecord.byteCount(payload: FileHeader.byteCount)
        #expect(bytes[end - size + 4] == JournalRecord.Kind.header.rawValue)
        for index in end - size..<end { bytes[index] = 0 }
        let handle = try FileHandle(forWritingTo: url)
        try handle.write(contentsOf: bytes)
        try handle.close()
    }
}
