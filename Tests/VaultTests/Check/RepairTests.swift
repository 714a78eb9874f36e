import Format
import Foundation
import Posix
import Store
import TestStores
import Testing

@testable import Vault
@testable import VaultCheck

/// Ways to damage a vault, and what a repair does about each.
enum Damage: String, CaseIterable, CustomStringConvertible {
    case header, wrap, truncatedHeader, zeros, blocks, truncated, exchanged, movedByHand, copied, record,
        recordOfAnother
    case emptyFolder, movedFolder, rootRecord, rootRecordLost, longName, link, attribute, orphans, journal
    case recordIsFolder, rootRecordIsFolder, journalIsFolder, journalIsPipe

    var description: String { rawValue }

    /// Damages the vault behind its back.
    func make(in scene: CheckScene) throws {
        let manager = FileManager.default
        func move(_ path: String, _ other: String) throws { try manager.moveItem(atPath: path, toPath: other) }
        let (top, first, folder) = (
            try scene.backing("/top"), try scene.backing("/folder/first"), try scene.backing("/folder")
        )
        try scene.test.vault.close()
        switch self {
        case .header: try scene.edit("/top") { $0[72] ^= 1 }
        case .wrap: try scene.edit("/top") { $0[370] ^= 1 }
        case .truncatedHeader: try scene.edit("/top") { $0 = Array($0[..<100]) }
        case .zeros: try scene.edit("/top") { $0 = [0] + [UInt8](repeating: 0, count: 5000) + [1] }
        case .blocks: try scene.edit("/top") { for block in [1, 3] { $0[512 + 4128 * block + 50] ^= 1 } }
        case .truncated: try scene.edit("/top") { $0 = Array($0[..<9000]) }
        case .exchanged:
            try move(top, top + "x")
            try move(first, top)
            try move(top + "x", first)
        case .movedByHand:
            try manager.removeItem(atPath: first)
            try move(top, first)
        case .copied:
            try manager.removeItem(atPath: first)
            try manager.copyItem(atPath: top, toPath: first)
        case .record: try manager.removeItem(atPath: folder + "/lk.dir")
        case .recordOfAnother:
            try manager.removeItem(atPath: folder + "/lk.dir")
            try manager.copyItem(atPath: scene.test.path + "/lk.dir", toPath: folder + "/lk.dir")
        case .recordIsFolder: try replaceByFolder(folder + "/lk.dir")
        case .rootRecordIsFolder: try replaceByFolder(scene.test.path + "/lk.dir")
        case .journalIsFolder: try replaceByFolder(scene.test.path + "/lk.journal")
        case .journalIsPipe:
            try manager.removeItem(atPath: scene.test.path + "/lk.journal")
            #expect(unsafe mkfifo(scene.test.path + "/lk.journal", 0o600) == 0)
        case .emptyFolder:
            for name in try manager.contentsOfDirectory(atPath: folder) {
                try manager.removeItem(atPath: folder + "/" + name)
            }
        case .movedFolder:
            try manager.removeItem(atPath: folder)
            try move(try scene.backing("/other"), folder)
        case .rootRecord:
            // The binding of another file: the ID is still in it.
            let record = try scene.test.vault.readRecord(.directoryRecord, at: .zero, in: scene.test.store.root)
            try scene.test.vault.writeRecord(
                record, at: NameBinding([UInt8](repeating: 7, count: 16)), as: .directoryRecord,
                in: scene.test.store.root)
        case .rootRecordLost: try manager.removeItem(atPath: scene.test.path + "/lk.dir")
        case .longName:
            try manager.removeItem(atPath: try scene.backing("/" + CheckScene.longName.description) + ".name")
        case .link:
            try manager.removeItem(atPath: try scene.backing("/link"))
            try manager.createSymbolicLink(atPath: try scene.backing("/link"), withDestinationPath: "/etc/passwd")
        case .attribute:
            let file = try Descriptor.open(path: top, O_RDWR)
            let name = try #require(try file.attributeNames().first { $0.hasPrefix("user.lk.") })
            try file.setAttribute(name, to: [1, 2, 3])
        case .orphans:
            try Data([1]).write(to: URL(fileURLWithPath: folder + "/lk.tmp.abc"))
            try manager.copyItem(atPath: folder + "/lk.dir", toPath: folder + "/lk.dir.new")
            try Data([1]).write(
                to: URL(fileURLWithPath: folder + "/lk.long." + String(repeating: "A", count: 43) + ".name"))
        case .journal:
            let journal = URL(fileURLWithPath: scene.test.path + "/lk.journal")
            var bytes = try Data(contentsOf: journal)
            bytes[60] ^= 1
            try bytes.write(to: journal)
        }
    }

    private func replaceByFolder(_ path: String) throws {
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    /// The paths that are no longer where they were.
    var touched: [String] {
        switch self {
        case .header, .wrap, .truncatedHeader, .zeros, .blocks, .truncated: ["/top"]
        case .exchanged, .movedByHand: ["/top", "/folder/first"]
        case .copied: ["/folder/first"]
        case .record, .recordOfAnother, .emptyFolder, .movedFolder, .recordIsFolder: ["/folder"]
        case .rootRecordLost, .rootRecordIsFolder: ["/"]
        case .longName: ["/n"]
        case .rootRecord, .link, .attribute, .orphans, .journal, .journalIsFolder, .journalIsPipe: []
        }
    }

    /// The contents that are found after the repair, by path.
    var saved: [String: [UInt8]] {
        let (first, second) = (CheckScene.first, CheckScene.second)
        return switch self {
        case .header: ["/lost+found/top": first]
        case .exchanged: ["/lost+found/top": first, "/lost+found/folder/first": first]
        case .movedByHand, .copied: ["/lost+found/folder/first": first]
        case .movedFolder: ["/lost+found/folder/single": second]
        case .wrap: ["/lost+found/top.unreadable.header": []]
        default: [:]
        }
    }
}

@Suite struct RepairTests {
    private func damaged(_ damage: Damage, wrapping wrap: (DirectoryStore) throws -> any Store = { $0 }) throws
        -> CheckScene
    {
        let scene = try CheckScene(wrapping: wrap)
        let other = try scene.test.makeDirectory("other")
        try scene.make("single", CheckScene.second, in: other)
        try damage.make(in: scene)
        return scene
    }

    /// No damage is left, whole files are unharmed, and a second repair has nothing to do.
    private func expectRepaired(_ scene: CheckScene, _ damage: Damage) throws {
        let left = try scene.findings().filter { $0.severity != .note }
        #expect(left.isEmpty, "\(left)")
        let all = [
            "/folder/first": CheckScene.first, "/folder/second": CheckScene.second,
            "/folder/inner/deep": CheckScene.second, "/top": CheckScene.first, "/empty": [],
            "/" + CheckScene.longName.description: CheckScene.second,
        ]
        for (path, expected) in all where !damage.touched.contains(where: path.hasPrefix) {
            #expect(try scene.contents(of: path) == expected, "\(path)")
        }
        for (path, expected) in damage.saved {
            let found = try scene.contents(of: path)
            #expect(expected.isEmpty ? found.count == 512 : found == expected, "\(path)")
        }
        #expect(try scene.repair().allSatisfy { $0.severity == .note })
    }

    @Test(arguments: Damage.allCases) func repairs(_ damage: Damage) throws {
        let scene = try damaged(damage)
        let findings = try scene.repair()
        #expect(!findings.isEmpty)
        for finding in findings where finding.severity != .note {
            guard case .done = finding.repair else {
                Issue.record("not repaired: \(finding)")
                continue
            }
        }
        try expectRepaired(scene, damage)
    }

    /// A vault without symbolic links, repaired by an ordinary user.
    @Test(arguments: [Damage.record, .movedFolder, .rootRecord, .rootRecordLost, .emptyFolder])
    func repairsRecordsInFiles(_ damage: Damage) throws {
        let scene = try CheckScene(recordKind: .file)
        let other = try scene.test.makeDirectory("other")
        try scene.make("single", CheckScene.second, in: other)
        try damage.make(in: scene)
        try scene.repair()
        try expectRepaired(scene, damage)
    }

    /// A store without RENAME_NOREPLACE.
    @Test(arguments: [Damage.header, .copied, .exchanged, .record, .movedFolder, .longName, .journalIsFolder])
    func repairsWithoutSuchARename(_ damage: Damage) throws {
        let scene = try damaged(damage) { InterceptingStore($0, hook: Replacing()) }
        for finding in try scene.repair() where finding.severity != .note {
            guard case .done = finding.repair else {
                Issue.record("not repaired: \(finding)")
                continue
            }
        }
        try expectRepaired(scene, damage)
    }

    /// A repair leaves alone what a later version has written.
    @Test(arguments: [20, 24], [false, true]) func theJournalOfALaterVersion(feature: Int, repairs: Bool) throws {
        let scene = try CheckScene()
        try scene.make("last", CheckScene.first)
        let path = scene.test.path + "/lk.journal"
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        bytes[feature] = 4
        let signed = Array(bytes[..<480])
        bytes.replaceSubrange(480..<512, with: scene.test.vault.keys.journal.tag(of: unsafe signed.span.bytes))
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        try handle.write(contentsOf: Data(bytes.prefix(512)))
        let next = scene.test.next(isReadOnly: false, journalSize: .smallest)
        let repair = Repair(of: next, contents: false, salvages: false, threads: 1) { _ in }
        let error = #expect(throws: VaultError.self) {
            if repairs { try repair.run() } else { _ = try next.openRoot() }
        }
        guard case .unsupported? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
        let readOnly = scene.test.next(isReadOnly: true, journalSize: .smallest)
        let root = try? readOnly.openRoot()
        // A reader may ignore bit 2 at offset 20; it must not ignore bit 2 at offset 24.
        #expect((root != nil) == (feature == 20))
        if let root { #expect(try readOnly.openFile("last", in: root).contents(20_000) == CheckScene.first) }
    }

    /// Anything else under the names of the vault's own small files is damage; temporary files among them are removed.
    @Test func somethingElseAmongTheLongTargets() throws {
        let scene = try CheckScene()
        let target = [UInt8](repeating: UInt8(ascii: "t"), count: 3500)
        try scene.test.vault.makeSymbolicLink(to: target, "long", in: scene.test.root, user: getuid(), group: getgid())
        let manager = FileManager.default
        let folder = scene.test.path + "/lk.targets"
        try manager.createDirectory(atPath: folder + "/lk.tmp.x", withIntermediateDirectories: false)
        #expect(try scene.found() == [Found(.orphan, .temporary)])
        try scene.repair()
        #expect(!manager.fileExists(atPath: folder + "/lk.tmp.x"))
        #expect(try scene.found() == [])
        let name = try #require(try manager.contentsOfDirectory(atPath: folder).first)
        try manager.removeItem(atPath: folder + "/" + name)
        #expect(unsafe mkfifo(folder + "/" + name, 0o600) == 0)
        #expect(try scene.found() == [Found(.damage, .symlink, "/long")])
        try manager.removeItem(atPath: folder + "/" + name)
        try manager.createSymbolicLink(atPath: folder + "/" + name, withDestinationPath: "/etc/passwd")
        #expect(try scene.found() == [Found(.damage, .symlink, "/long")])
        try manager.removeItem(atPath: folder)
        try Data([1]).write(to: URL(fileURLWithPath: folder))
        #expect(try scene.found().contains(Found(.damage, .symlink, "/long")))
    }

    /// A repair that is killed at one of its changes to the store: the next repair finishes it. Of each damage every
    /// third change is tried, each time with another start: most changes are common to all.
    @Test(arguments: Damage.allCases) func interruptedAnywhere(_ damage: Damage) throws {
        var faults: FaultInjectingStore!
        let scene = try damaged(damage) { base in
            faults = FaultInjectingStore(InterceptingStore(base, hook: Unflushed()))
            return faults
        }
        let copy = try scene.snapshot()
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let first = 1 + Damage.allCases.firstIndex(of: damage)! % 3
        var step = first
        while true {
            try #require(step < 3000, "the repair never ends without a fault")
            let effect: FaultPlan.Effect = [.none, .half, .whole][step / 3 % 3]
            let before = faults.faults.injected
            faults.faults.fail(nil, nth: step, with: .EIO, effect: effect, lasts: true)
            _ = try? scene.repair(salvages: true)
            faults.faults.clear()
            guard faults.faults.injected > before else { break }
            try scene.repair()
            try expectRepaired(scene, damage)
            // The second repair moves what the first one has not moved: no name is left to be taken for another
            // program's.
            #expect(try !scene.findings().contains { $0.kind == .foreign }, "step \(step)")
            try scene.restore(copy)
            step += 3
        }
        #expect(step > first)
    }

    @Test func aPartlyLostFileIsSalvaged() throws {
        let scene = try damaged(.blocks)
        try scene.repair(salvages: true)
        #expect(try scene.names(in: "/lost+found") == ["REPORT.txt", "top", "top.salvaged"])
        var expected = CheckScene.first
        for range in [4096..<8192, 12_288..<16_384] {
            expected.replaceSubrange(range, with: [UInt8](repeating: 0, count: 4096))
        }
        #expect(try scene.contents(of: "/lost+found/top.salvaged") == expected)
        let (directory, name, vault) = try scene.look(up: "/lost+found/top.salvaged")
        let file = try vault.openFile(name, in: directory)
        #expect(try vault.attribute(Array("user.colour".utf8), of: .file(file)) == [1, 2, 3])
        let report = String(decoding: try scene.contents(of: "/lost+found/REPORT.txt"), as: UTF8.self)
        #expect(report.contains("/top"))
        #expect(report.contains("lost bytes: 4096-8191, 12288-16383"))
        // A second repair does not salvage again.
        try scene.repair(salvages: true)
        #expect(try scene.names(in: "/lost+found") == ["REPORT.txt", "top", "top.salvaged"])
    }

    /// First without the passcode, then with it: the second repair salvages the file that the first one moved.
    @Test func salvagedLater() throws {
        let scene = try damaged(.truncated)
        try scene.repair()
        #expect(try scene.names(in: "/lost+found") == ["REPORT.txt", "top"])
        let later = try scene.repair(salvages: true)
        #expect(later.map(\.severity) == [.note])
        #expect(try scene.contents(of: "/lost+found/top.salvaged").prefix(8192) == CheckScene.first.prefix(8192))
    }

    /// A header that is made anew keeps the file's holes, and its length stays within what a file can have: an attacker
    /// may have made the backing file longer.
    @Test(arguments: [0, 7_000_000]) func theHeaderOfASparseFile(tebibytes: Int64) throws {
        let scene = try CheckScene()
        let sparse = try scene.make("sparse", CheckScene.second)
        try sparse.truncate(to: 40 << 20)
        try sparse.write(CheckScene.second, at: 30 << 20)
        try sparse.synchronize(dataOnly: false)
        let path = try scene.backing("/sparse")
        try scene.test.vault.close()
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        try handle.seek(toOffset: 66)
        try handle.write(contentsOf: [0xA5])
        if tebibytes > 0, unsafe truncate(path, Int(tebibytes << 40)) != 0 {
            // Few file systems take files so large.
            #expect(errno == EFBIG)
        }
        try scene.repair()
        #expect(try scene.found() == [])
        let contents = try scene.contents(of: "/lost+found/sparse")
        #expect(contents.count >= (30 << 20) + CheckScene.second.count && contents.count <= 40 << 20)
        #expect(Array(contents.prefix(9000)) == CheckScene.second)
        #expect(Array(contents[(30 << 20)...].prefix(9000)) == CheckScene.second)
        #expect(contents[9000..<30 << 20].allSatisfy { $0 == 0 })
    }

    /// Without its class key a file cannot be told whole from damaged: it stays until a check has the key.
    @Test func aHeaderOfALockedClass() throws {
        let scene = try damaged(.header)
        var lockable: [ProtectionClass] { [.complete, .completeUnlessOpen, .completeUntilFirstUserAuthentication] }
        let keys = try scene.test.keys()
        scene.test.ring.wipe(lockable)
        let findings = try scene.repair()
        guard case .failed(let reason)? = findings.first?.repair else {
            Issue.record("repaired: \(findings)")
            return
        }
        #expect(reason.text.contains("--unlock"))
        scene.test.ring.install(keys)
        try scene.repair()
        try expectRepaired(scene, .header)
    }

    /// One step fails for want of space: the session still ends, and leaves no journal behind.
    @Test func aFullDiskLeavesNothingTruncated() throws {
        var faults: FaultInjectingStore!
        let scene = try damaged(.blocks) { base in
            faults = FaultInjectingStore(base)
            return faults
        }
        faults.faults.fail(.makeDirectory, with: .ENOSPC)
        #expect(throws: VaultError.system(.ENOSPC)) { try scene.repair() }
        #expect(try RecoveryJournal(of: scene.vault(isReadOnly: true))?.head.opened == 0)
        #expect(try scene.found() == [Found(.damage, .contents, "/top")])
        try scene.repair()
        try expectRepaired(scene, .blocks)
    }

    /// Several entries of one name, and names of the greatest length.
    @Test func namesThatAreTaken() throws {
        let scene = try CheckScene()
        try scene.edit("/top") { $0[370] ^= 1 }
        try scene.edit("/" + CheckScene.longName.description) { $0[600] ^= 1 }
        try scene.repair()
        try scene.test.vault.close()
        let next = try scene.vault(isReadOnly: false)
        let root = try next.openRoot()
        for name: Name in ["top", CheckScene.longName] {
            let file = try next.createFile(
                name, in: root, scene.test.me, .completeUntilFirstUserAuthentication)
            try file.write(CheckScene.first, at: 0)
            try file.synchronize(dataOnly: false)
        }
        try next.close()
        try scene.edit("/top") { $0[370] ^= 1 }
        try scene.edit("/" + CheckScene.longName.description) { $0[600] ^= 1 }
        let findings = try scene.repair(salvages: true)
        #expect(findings.filter { $0.severity == .damage }.count == 2)
        let names = try scene.names(in: "/lost+found")
        #expect(names.count == 9, "\(names)")
        #expect(try scene.findings().allSatisfy { $0.severity == .note })
    }

    /// A directory whose name is lost moves with all its contents, named by its ID; the names below it stay.
    @Test func namesBelowALostFolderAreKept() throws {
        let scene = try damaged(.record)
        let first = try scene.test.vault.openFile("first", in: scene.folder).identifier
        try scene.repair()
        let names = try scene.names(in: "/lost+found/folder")
        #expect(names.count == 3)
        #expect(try scene.contents(of: "/lost+found/folder/\(first)") == CheckScene.first)
        let inner = try #require(names.first { $0.hasPrefix("folder-") })
        #expect(try scene.contents(of: "/lost+found/folder/\(inner)/deep") == CheckScene.second)
        let report = String(decoding: try scene.contents(of: "/lost+found/REPORT.txt"), as: UTF8.self)
        #expect(report.contains("moved to /lost+found/folder/\(first)"))
    }

    /// With more damage than fits in memory, each run does its part, whatever is in lost+found by then.
    @Test func moreThanARunTakes() throws {
        let scene = try CheckScene()
        let names = (0..<5).map { Name(bytes: "damaged\($0)".utf8)! }
        for name in names {
            try scene.make(name, CheckScene.second)
            try scene.edit("/\(name)") { $0[600] ^= 1 }
        }
        for left in [3, 1, 0] {
            let found = Findings()
            try Repair(
                of: try scene.vault(isReadOnly: false), contents: true, salvages: false, threads: 1, mostPending: 2
            ) { found.add($0) }.run()
            let failed = found.all.filter {
                if case .failed = $0.repair { $0.severity == .damage } else { false }
            }
            #expect(failed.count == left)
        }
        #expect(try scene.findings().allSatisfy { $0.severity == .note })
        #expect(try scene.names(in: "/lost+found") == Set(names.map(\.description) + ["REPORT.txt"]))
    }

    @Test func aCancelledRepairIsFinishedByTheNext() throws {
        let scene = try damaged(.blocks)
        let repair = Repair(of: try scene.vault(isReadOnly: false), contents: true, salvages: false, threads: 1) { _ in
        }
        repair.check.cancel()
        try repair.run()
        try scene.repair()
        try expectRepaired(scene, .blocks)
    }
}
