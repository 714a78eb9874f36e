import Format
import Foundation
import Posix
import Store
import Synchronization
import TestStores
import Testing

@testable import Vault

/// The journal has more parts while records come faster than checkpoints free one, and is small again afterwards.
@Suite struct JournalGrowthTests {
    /// A vault whose journal begins with two parts of 1280 KiB, and a synced file.
    private final class Scene {
        static let count = 400_000
        let test: TestVault
        let faults: FaultPlan
        let file: File
        /// What is in the file.
        private(set) var byte: UInt8 = 0

        init() throws {
            let size = JournalSize(part: JournalSize.smallest.part, mostParts: 4)
            test = try TestVault(journalSize: size) { FaultInjectingStore($0) }
            faults = try #require(test.store as? FaultInjectingStore).faults
            file = try test.create("file")
            try write(1)
            try file.synchronize(dataOnly: false)
            try vault.checkpoint()
        }

        /// Overwrites the whole file, so many times.
        func write(_ times: Int) throws {
            for _ in 0..<times {
                try file.write([UInt8](repeating: byte &+ 1, count: Self.count), at: 0)
                byte &+= 1
            }
        }

        var vault: Vault { test.vault }

        /// Whether the head allows another write of the file.
        var hasRoom: Bool {
            get throws {
                try vault.openJournal().state.withLock { state in
                    state.next < state.head.parts || state.head.partSize - state.position > 500_000
                }
            }
        }

        var parts: Int { get throws { try vault.openJournal().state.withLock { $0.parts.count } } }

        var head: JournalHead {
            get throws {
                let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)).prefix(JournalHead.byteCount))
                return try unsafe JournalHead(decoding: bytes.span.bytes)
            }
        }

        var size: Int {
            get throws { try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) }
        }

        func size(parts: Int) -> Int { JournalHead.areaOffset + parts * Int(JournalSize.smallest.part) }

        private var path: String { test.path + "/lk.journal" }

        /// After the death of the daemon everything that was synced is there, and the journal is small.
        func expectContentsAfterDeath() throws {
            vault.abandon()
            let reader = test.next(isReadOnly: true)
            try expect(reader.openFile("file", in: reader.openRoot()), "by a reader")
            let (next, root) = try test.afterDeath()
            try expect(next.openFile("file", in: root), "after a replay")
            #expect(try head.parts == JournalHead.fewestParts)
        }

        private func expect(_ file: File, _ who: String) throws {
            try file.loadKey()
            // A failed comparison of so many bytes would be shown as their difference, which takes for ever.
            let isWhole = try file.contents(Self.count + 1) == [UInt8](repeating: byte, count: Self.count)
            #expect(isWhole, "\(who)")
        }
    }

    @Test func itGrowsForABurstAndShrinksWhenAllIsInPlace() throws {
        let scene = try Scene()
        #expect(try (scene.parts, scene.size) == (2, scene.size(parts: 2)))
        try scene.write(8)
        #expect(try (scene.parts, scene.size) == (3, scene.size(parts: 3)))
        #expect(try scene.head.parts == 4, "an upper limit, written once")
        // More than all parts hold: from then on the oldest is freed by a checkpoint.
        try scene.write(10)
        #expect(try (scene.parts, scene.size) == (4, scene.size(parts: 4)))
        try scene.vault.shrinkJournal()
        #expect(try scene.parts == 4, "records are needed")
        try scene.vault.checkpoint()
        try scene.vault.shrinkJournal()
        #expect(try (scene.parts, scene.size) == (2, scene.size(parts: 2)))
        #expect(try scene.head.parts == 2)
        // And once more.
        try scene.write(8)
        #expect(try scene.parts == 3)
        try scene.file.synchronize(dataOnly: true)
        try scene.expectContentsAfterDeath()
    }

    /// At each number of parts, before and after it was freed and written again, and after it has shrunk.
    @Test(arguments: 0..<16) func whatWasSyncedIsThereAfterADeath(turn: Int) throws {
        let scene = try Scene()
        if turn % 2 == 1 {
            try scene.write(7)
            try scene.vault.checkpoint()
            try scene.vault.shrinkJournal()
        }
        try scene.write(turn * 2)
        try scene.file.synchronize(dataOnly: true)
        try scene.expectContentsAfterDeath()
    }

    /// A session that ends leaves nothing of it.
    @Test func theEndOfASessionLeavesTwoParts() throws {
        let scene = try Scene()
        try scene.write(12)
        try scene.vault.close()
        #expect(try (scene.head.parts, scene.size) == (2, JournalHead.areaOffset))
        try scene.expectContentsAfterDeath()
    }

    /// A store without space to spare: the oldest part is freed instead.
    @Test(arguments: [FaultPlan.Calls.kinds([.allocate]), FaultPlan.Calls.kinds([.statistics])])
    func aStoreWithoutSpaceToSpare(calls: FaultPlan.Calls) throws {
        let scene = try Scene()
        scene.faults.fail(calls, nth: 1, with: .ENOSPC, then: calls)
        try scene.write(12)
        #expect(try scene.parts == 2)
        scene.faults.clear()
        try scene.file.synchronize(dataOnly: true)
        try scene.expectContentsAfterDeath()
    }

    /// The head could not be made durable: no part is written of which it may not say.
    @Test(arguments: [Errno.EIO, .notAnswered], [FaultPlan.Effect.none, .whole])
    func aHeadThatIsNotDurable(error: Errno, effect: FaultPlan.Effect) throws {
        let scene = try Scene()
        scene.faults.fail(.synchronize, with: error, effect: effect)
        var caught: VaultError?
        for _ in 0..<8 where caught == nil {
            do throws(VaultError) { try scene.file.write([UInt8](repeating: 1, count: Scene.count), at: 0) } catch {
                caught = error
            }
        }
        #expect(caught == .system(error))
        #expect(try scene.parts == 2)
        if error == .notAnswered {
            try scene.write(1)
            #expect(try scene.parts == 3)
            try scene.file.synchronize(dataOnly: true)
        }
        try scene.expectContentsAfterDeath()
    }

    /// The new head of a journal that shrinks may be on the disk or not.
    @Test(arguments: [FaultPlan.Effect.none, .whole]) func aHeadThatMayBeWritten(effect: FaultPlan.Effect) throws {
        let scene = try Scene()
        try scene.write(8)
        try scene.vault.checkpoint()
        scene.faults.fail(.synchronize, with: .notAnswered, effect: effect)
        #expect(throws: VaultError.system(.notAnswered)) { try scene.vault.shrinkJournal() }
        #expect(try scene.parts == 3)
        try scene.write(7)
        try scene.file.synchronize(dataOnly: true)
        #expect(try scene.head.parts == 4, "it says again that there are more")
        try scene.vault.checkpoint()
        try scene.vault.shrinkJournal()
        #expect(try scene.parts == 2)
        try scene.write(1)
        try scene.file.synchronize(dataOnly: true)
        try scene.expectContentsAfterDeath()
    }

    /// The parts are free, and the store has no space for a head that says of them: the write fails, and does not wait
    /// for ever.
    @Test func hiddenPartsOnAFullStore() throws {
        let scene = try Scene()
        try scene.write(8)
        try scene.vault.checkpoint()
        scene.faults.fail(.synchronize, with: .notAnswered)
        #expect(throws: VaultError.system(.notAnswered)) { try scene.vault.shrinkJournal() }
        // Until the next part is one of which the head does not say.
        while try scene.hasRoom { try scene.write(1) }
        scene.faults.fail(.write, with: .ENOSPC)
        #expect(throws: VaultError.system(.ENOSPC)) { try scene.write(1) }
        try scene.write(1)
        try scene.file.synchronize(dataOnly: true)
        try scene.expectContentsAfterDeath()
    }

    /// Each write reserves most of a part, so that only one of them finds room at a time.
    @Test func threadsThatWaitForRoomOfOthers() throws {
        let test = try TestVault(journalSize: .smallest)
        let files = try (0..<4).map { try test.create(Name(bytes: "f\($0)".utf8)!) }
        for file in files {
            try file.write([UInt8](repeating: 0, count: 1_000_000), at: 0)
            try file.synchronize(dataOnly: false)
        }
        let failed = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: files.count) { number in
            for turn in 1...8 {
                let bytes = [UInt8](repeating: UInt8(number * 8 + turn), count: 1_000_000)
                if (try? files[number].write(bytes, at: 0)) == nil { failed.add(1, ordering: .relaxed) }
            }
        }
        #expect(failed.load(ordering: .relaxed) == 0)
        for (number, file) in files.enumerated() {
            #expect(try file.contents(1, at: 999_999) == [UInt8(number * 8 + 8)])
        }
    }

    /// A crash in the middle of the copying must find the records. The file is larger than what is copied at once.
    @Test func nothingIsCopiedBeforeItsRecordsAreDurable() throws {
        let scene = try Scene()
        let path = scene.test.path + "/" + (try scene.vault.storedName("file", in: scene.test.root).name.description)
        let before = try Data(contentsOf: URL(filePath: path))
        try scene.write(1)
        scene.faults.fail(.synchronize, with: .EIO)
        #expect(throws: VaultError.system(.EIO)) { try scene.vault.checkpoint { [scene.file] } }
        let isUnchanged = try Data(contentsOf: URL(filePath: path)) == before
        #expect(isUnchanged)
    }

    /// A crash would leave the directory under its tombstone's name.
    @Test func aDirectoryThatIsMovedAsideKeepsItFromShrinking() throws {
        let scene = try Scene()
        _ = try scene.test.makeDirectory("folder")
        try scene.write(8)
        let stored = try scene.vault.storedName("folder", in: scene.test.root)
        _ = try scene.vault.moveAside(stored, in: scene.test.root, noting: true)
        try scene.vault.checkpoint()
        try scene.vault.shrinkJournal()
        #expect(try scene.parts == 3)
        scene.vault.abandon()
        let (next, root) = try scene.test.afterDeath()
        _ = try next.openDirectory("folder", in: root)
    }

    /// A rename over an empty directory is durable when it returns.
    @Test func aDirectoryThatIsReplacedDoesNot() throws {
        let scene = try Scene()
        for name in ["one", "two"] as [Name] { _ = try scene.test.makeDirectory(name) }
        try scene.write(8)
        try scene.test.rename("one", to: "two")
        try scene.vault.checkpoint()
        try scene.vault.shrinkJournal()
        #expect(try scene.parts == 2)
    }
}
