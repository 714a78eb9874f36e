import Format
import Foundation
import Posix
import Store
import Testing

@testable import Vault
@testable import VaultCheck

/// A check with a journal that has not been replayed: it sees the files as the next mount will, and changes nothing.
@Suite struct PendingJournalTests {
    /// A vault whose daemon has died, with a file that only its journal holds.
    private func scene() throws -> CheckScene {
        let scene = try CheckScene()
        let file = try scene.test.create("synced")
        try file.write(CheckScene.second, at: 0)
        try file.synchronize(dataOnly: true)
        _ = try scene.test.create("unsynced")
        return scene
    }

    /// The file as a power loss leaves it.
    private func truncate(_ names: [String], to size: UInt64, in scene: CheckScene) throws {
        for name in names {
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: try scene.backing(name)))
            try handle.truncate(atOffset: size)
            try handle.close()
        }
    }

    private func next(_ scene: CheckScene, isReadOnly: Bool) -> Vault {
        scene.test.next(isReadOnly: isReadOnly, journalSize: .smallest)
    }

    private func found(_ scene: CheckScene, contents: Bool = true) throws -> Set<Found> {
        let found = Findings()
        try Check(of: next(scene, isReadOnly: true), contents: contents, threads: 2) { found.add($0) }.run()
        return Set(found.all.map(Found.init))
    }

    private func repaired(_ scene: CheckScene) throws -> [Finding] {
        let found = Findings()
        try Repair(of: next(scene, isReadOnly: false), contents: true, salvages: true, threads: 2) { found.add($0) }
            .run()
        return found.all
    }

    private static let note = Found(.note, .journal)

    /// The head of the journal is damaged. What was synced into the journal reaches the files all the same, also where
    /// the journal's space could not be reserved.
    @Test(arguments: [true, false]) func aDamagedHeadLosesNothing(isShort: Bool) throws {
        let scene = try scene()
        let file = try scene.test.create("written over")
        try file.write(CheckScene.second, at: 0)
        try file.synchronize(dataOnly: false)
        try file.write(CheckScene.first, at: 0)
        try file.synchronize(dataOnly: true)
        try truncate(["/synced"], to: 0, in: scene)
        let journal = URL(fileURLWithPath: scene.test.path + "/lk.journal")
        let handle = try FileHandle(forUpdating: journal)
        if isShort { try handle.truncate(atOffset: 4 << 20) }
        try handle.seek(toOffset: 60)
        try handle.write(contentsOf: Data([0xFF]))
        try handle.close()
        let findings = Findings()
        try Repair(of: scene.test.next(isReadOnly: false), contents: true, salvages: true, threads: 2) {
            findings.add($0)
        }.run()
        #expect(findings.all.contains { $0.kind == .journal && $0.severity == .damage })
        let (vault, root) = try scene.test.afterDeath()
        let count = max(CheckScene.first.count, CheckScene.second.count)
        #expect(
            try vault.openFile("written over", in: root).contents(count)
                == CheckScene.first + CheckScene.second.dropFirst(CheckScene.first.count))
        #expect(try vault.openFile("synced", in: root).contents(count) == CheckScene.second)
    }

    @Test func aFileThatOnlyTheJournalHasIsNoOrphan() throws {
        let scene = try scene()
        try truncate(["/synced", "/unsynced"], to: 0, in: scene)
        let expected: Set = [Self.note, Found(.orphan, .unsynced, "/unsynced")]
        #expect(try found(scene) == expected)
        #expect(try found(scene, contents: false) == expected)
        let findings = try repaired(scene)
        #expect(Set(findings.map(Found.init)) == expected)
        for finding in findings {
            guard case .done = finding.repair else {
                Issue.record("not repaired: \(finding)")
                continue
            }
        }
        #expect(try scene.contents(of: "/synced") == CheckScene.second)
        #expect(try scene.findings().isEmpty)
    }

    /// The header has reached the disk and the blocks have not: all of them are in the journal.
    @Test func aFileOfAHeaderAlone() throws {
        let scene = try scene()
        try truncate(["/synced"], to: 512, in: scene)
        #expect(try found(scene) == [Self.note])
    }

    /// The journal cannot replace bytes that were truncated behind the vault's back.
    @Test func blocksOutsideTheJournalAreLost() throws {
        let scene = try scene()
        let file = try scene.test.vault.openFile("top", in: scene.test.root)
        try file.write([1, 2, 3], at: 100)
        try file.synchronize(dataOnly: true)
        try truncate(["/top"], to: 512 + 4128, in: scene)
        let found = Findings()
        try Check(of: next(scene, isReadOnly: true), contents: true, threads: 2) { found.add($0) }.run()
        #expect(found.all.compactMap(\.lost?.ranges) == [[4096..<20_000]])
    }

    /// The zeros of a large hole are not read one by one, whatever is in the journal.
    @Test func holesOfAFileInTheJournalAreSkipped() throws {
        let scene = try CheckScene()
        let file = try scene.make("sparse", [1, 2, 3])
        try file.write([9], at: 1 << 40)
        try file.synchronize(dataOnly: false)
        try file.write([7], at: 1 << 40)
        try file.synchronize(dataOnly: true)
        #expect(try found(scene) == [Self.note])
    }

    @Test func aTombstone() throws {
        let scene = try CheckScene()
        _ = try scene.test.makeDirectory("spare")
        let stored = try scene.test.vault.storedName("spare", in: scene.test.root)
        let tombstone = try scene.test.vault.moveAside(stored, in: scene.test.root, noting: true)
        #expect(try found(scene) == [Self.note])
        // The name is taken again: the tombstone is an orphan.
        _ = try scene.test.makeDirectory("spare")
        #expect(try found(scene) == [Self.note, Found(.orphan, .temporary)])
        let entries = try scene.test.backingNames
        #expect(entries.contains(tombstone.description))
    }

    /// An entry in the new folder reached the disk before the folder's record: it was never durable, and is saved
    /// anyway.
    @Test func aFolderThatACrashHasLeftWithoutItsRecord() throws {
        let scene = try CheckScene()
        let young = try scene.test.makeDirectory("young")
        let file = try scene.make("file", CheckScene.second, in: young)
        _ = try scene.test.makeDirectory("empty folder")
        for name in ["/young", "/empty folder"] {
            try FileManager.default.removeItem(atPath: try scene.backing(name) + "/lk.dir")
        }
        let left: Set = [Found(.orphan, .unsynced, "/young"), Found(.orphan, .unsynced, "/empty folder")]
        #expect(try found(scene) == left.union([Self.note]))
        for finding in try repaired(scene) {
            guard case .done = finding.repair else {
                Issue.record("not repaired: \(finding)")
                continue
            }
        }
        #expect(try scene.contents(of: "/lost+found/young/\(file.identifier)") == CheckScene.second)
        #expect(try scene.findings().isEmpty)
    }

    @Test func aJournalThatIsGone() throws {
        let scene = try CheckScene()
        try scene.test.vault.close()
        try FileManager.default.removeItem(atPath: scene.test.path + "/lk.journal")
        #expect(try found(scene) == [Self.note])
        #expect(try repaired(scene).map(Found.init) == [Self.note])
        #expect(try found(scene).isEmpty)
        // A file to which nothing was ever written is not missed.
        let fresh = try TestVault()
        try fresh.vault.close()
        try FileManager.default.removeItem(atPath: fresh.path + "/lk.journal")
        let findings = Findings()
        try Check(of: fresh.next(isReadOnly: true), contents: true, threads: 1) { findings.add($0) }.run()
        #expect(findings.all.isEmpty)
    }
}
