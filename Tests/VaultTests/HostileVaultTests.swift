import Crypto
import Format
import Foundation
import Posix
import Store
import Testing

@testable import Keybag
@testable import Vault
@testable import VaultCheck

/// Vaults whose maker knows the keys: every tag is right, and what is under it is wrong.
@Suite struct HostileVaultTests {
    static let edges: [UInt64] = [
        0, 1, 1 << 31, 1 << 32, 1 << 40, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, .max - 1, .max,
    ]

    // MARK: The journal's names

    static let paths = [
        "../outside", "folder/../../outside", "/outside", "//outside", "..", ".", "./../outside", "a//b", "a/./b",
        "lk.keybag", "lk.lock", "a/lk.dir", String(repeating: "a", count: 256),
        "a/" + String(repeating: "b", count: 256),
        "../", "a/",
    ]

    /// A file outside of the vault that replay would take for one that a power loss has left empty.
    @Test(arguments: paths, [true, false]) func aPathInTheJournalStaysInTheVault(path: String, isRepaired: Bool) throws
    {
        let test = try TestVault()
        let outside = try Outside(of: test, mentionedAs: path)
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        try file.synchronize(dataOnly: true)
        try append(to: test, .file, Array(outside.path.utf8), of: FileIdentifier([UInt8](repeating: 9, count: 16))) {
            header in
            header.length = 0
            header.provisionalLength = 0
        }
        try expectHarmless(test, outside, isRepaired: isRepaired)
    }

    static let tombstones: [(folder: String, tombstone: String, name: String)] = [
        ("..", "lk.tmp.a", "AAAAAAAAAAAAAAAAAAAAAAAAAAA"), ("", "../outside", "AAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("", "lk.tmp.a", "../renamed"), ("", "lk.tmp.a", ".."), ("", "lk.keybag", "AAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("", "lk.tmp.a", "lk.keybag"), ("../", "outside", "renamed"), ("/", "lk.tmp.a", "AAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ]

    @Test(arguments: tombstones.indices, [true, false]) func aFolderIsPutBackInTheVaultOnly(
        index: Int, isRepaired: Bool
    )
        throws
    {
        let test = try TestVault()
        let outside = try Outside(of: test, mentionedAs: "../outside")
        let (folder, tombstone, name) = Self.tombstones[index]
        let file = try test.create("file")
        try file.write([1, 2, 3], at: 0)
        try file.synchronize(dataOnly: true)
        let note = TombstoneNote(
            path: Array(folder.utf8), tombstone: Array(tombstone.replacing("../outside", with: outside.path).utf8),
            name: Array(name.utf8)
        ).encoded
        try append(to: test, .tombstone, note, of: .zero) { _ in }
        try expectHarmless(test, outside, isRepaired: isRepaired)
    }

    /// A check reports the record, a repair and a mount do nothing about it, and the journal's other records count.
    private func expectHarmless(_ test: TestVault, _ outside: Outside, isRepaired: Bool) throws {
        let found = Findings()
        try Check(of: test.next(isReadOnly: true), contents: true, threads: 2) { found.add($0) }.run()
        #expect(found.all.contains { $0.severity == .damage && $0.reason.text.contains("this vault does not have") })
        outside.expectUnchanged()
        if isRepaired { try repair(test) }
        let (vault, root) = try test.afterDeath()
        #expect(try vault.openFile("file", in: root).contents(10) == [1, 2, 3])
        outside.expectUnchanged()
    }

    /// The entries beside the vault.
    private struct Outside {
        let path: String
        private let location: URL
        private let folder: URL
        private static let text = Data("not the vault's".utf8)

        /// - Parameter path: a path in which `outside` stands for a name that is unique to the test.
        init(of test: TestVault, mentionedAs path: String) throws {
            let name = "outside-" + UUID().uuidString
            self.path = path.replacing("outside", with: name)
            folder = URL(filePath: test.path).deletingLastPathComponent()
            location = folder.appending(path: name)
            try Self.text.write(to: location)
        }

        func expectUnchanged(sourceLocation: SourceLocation = #_sourceLocation) {
            #expect((try? Data(contentsOf: location)) == Self.text, sourceLocation: sourceLocation)
            #expect(!FileManager.default.fileExists(atPath: folder.path() + "renamed"), sourceLocation: sourceLocation)
        }
    }

    /// Appends a record, and a header of the file that it names, as a writer with the keys can.
    private func append(
        to test: TestVault, _ kind: JournalRecord.Kind, _ payload: [UInt8], of file: FileIdentifier,
        _ change: (inout FileHeader) -> Void
    ) throws {
        let journal = try test.vault.openJournal()
        let identity = FileIdentity(identifier: file, inode: 1)
        var header = FileHeader(
            volume: test.vault.volume, file: file,
            protection: FileProtection(.none, isExplicit: false, FileKeyWrap(algorithm: 1, bytes: [])), binding: .zero)
        change(&header)
        let bytes = header.signed(test.vault.keys)
        let record = JournalRecord(kind, of: file, generation: .max, number: 0, payloadCount: payload.count)
        _ = try unsafe journal.append(record, of: identity, payload.span.bytes)
        let last = try unsafe journal.append(
            JournalRecord(.header, of: file, payloadCount: FileHeader.byteCount), of: identity, bytes.span.bytes)
        try journal.flush(upTo: last.sequence)
    }

    @discardableResult private func repair(_ test: TestVault) throws -> [Finding] {
        let found = Findings()
        try Repair(of: test.next(isReadOnly: false), contents: true, salvages: true, threads: 2) { found.add($0) }.run()
        return found.all
    }

    // MARK: Numbers

    /// What a header's numbers bind it to: docs/FORMAT.md, "Files".
    static let headerFields = [
        (59, 1), (60, 2), (64, 8), (72, 8), (80, 8), (88, 8), (98, 2), (100, 4), (312, 8), (320, 4), (328, 8), (336, 4),
        (344, 8), (352, 8),
    ]

    /// Each header is refused with an error for that file, or read as it says. The other file is unharmed, and the disk
    /// does not fill up.
    @Test(arguments: headerFields.map(\.0)) func numbersInAHeader(offset: Int) throws {
        let count = Self.headerFields.first { $0.0 == offset }!.1
        for edge in Self.edges {
            try useHeader { bytes in put(edge, count, &bytes, at: offset) }
        }
    }

    /// Lengths against each other: confirmed, first sparse block, pending.
    @Test(arguments: [UInt64(0), 4096, 9000, 1 << 40, 1 << 62]) func lengthsInAHeader(pending: UInt64) throws {
        for length in [UInt64(0), 1, 4096, 9000, 1 << 40, 1 << 62] where length <= pending {
            for sparse in [UInt64(0), 1, 3, 1 << 28, .max - 1, .max] {
                for isGrown in [false, true] {
                    try useHeader(isGrown: isGrown) { bytes in
                        put(length, 8, &bytes, at: 72)
                        put(sparse, 8, &bytes, at: 80)
                        put(pending, 8, &bytes, at: 88)
                    }
                }
            }
        }
    }

    private func put(_ value: UInt64, _ count: Int, _ bytes: inout [UInt8], at offset: Int) {
        for index in 0..<count { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
    }

    /// Changes the header of a file of 9,000 bytes, signs it again, and does everything to the file that a user can.
    ///
    /// - Parameter isGrown: the backing file ends in a hole that takes no space.
    private func useHeader(isGrown: Bool = false, _ change: (inout [UInt8]) -> Void) throws {
        let test = try TestVault()
        let text = [UInt8](repeating: 7, count: 9000)
        for name in ["file", "other"] as [Name] {
            let file = try test.create(name)
            try file.write(text, at: 0)
        }
        try test.vault.close()
        let path = test.path + "/" + (try test.vault.storedName("file", in: test.root).name.description)
        let handle = try FileHandle(forUpdating: URL(filePath: path))
        var bytes = Array(try #require(try handle.read(upToCount: FileHeader.byteCount)))
        change(&bytes)
        let tag = unsafe test.vault.keys.headers.tag(of: bytes.span.bytes.extracting(0..<FileHeader.signedByteCount))
        for (index, byte) in tag.enumerated() { bytes[FileHeader.signedByteCount + index] = byte }
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: bytes)
        if isGrown { try handle.truncate(atOffset: 1 << 43) }
        try handle.close()

        for isReadOnly in [true, false] {
            let vault = test.next(isReadOnly: isReadOnly, journalSize: .smallest)
            let root = try vault.openRoot()
            try? use("file", in: root, of: vault)
            #expect(try vault.openFile("other", in: root).contents(20_000) == text)
            if !isReadOnly { try vault.close() }
        }
        try expectSmall(test)
        if bytes[88 + 5] == 0 && !isGrown { try repair(test) }
        try expectSmall(test)
    }

    private func use(_ name: Name, in root: Directory, of vault: Vault) throws {
        _ = try vault.lookup(name, in: root)
        let file = try vault.openFile(name, in: root)
        _ = try file.status()
        try file.loadKey()
        defer { file.close() }
        for offset in [0, 4096, file.length / 2, file.length - min(file.length, 100)] {
            _ = try? file.contents(8192, at: offset)
        }
        _ = try? file.next(hole: true, from: 0)
        _ = try? file.next(hole: false, from: 0)
        guard !vault.isReadOnly else { return }
        try? file.write([1, 2, 3], at: 10)
        try? file.write([1, 2, 3], at: file.length)
        try? file.synchronize(dataOnly: false)
        try? file.truncate(to: 100)
        try? file.setTimes(accessed: .keep, modified: .now)
        try? file.synchronize(dataOnly: false)
        try? vault.rename(
            vault.renameEnd(name, in: root), .file(file), to: vault.renameEnd("moved", in: root), replaced: nil,
            RenameKind())
    }

    /// The vault's files take no more space than what was put there.
    private func expectSmall(_ test: TestVault, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: test.path)
        var blocks: Int64 = 0
        for path in paths where !path.hasSuffix("lk.journal") {
            var status = stat()
            if unsafe lstat(test.path + "/" + path, &status) == 0 { blocks += Int64(status.st_blocks) }
        }
        #expect(blocks * 512 < 8 << 20, "\(blocks) blocks", sourceLocation: sourceLocation)
    }

    // MARK: The journal's head and records

    static let headFields = [(48, 8), (56, 8), (64, 8), (72, 1), (80, 8), (88, 8)]

    /// Each is refused as the vault's journal, or means a session that can be resumed; a repair mends it.
    @Test(arguments: headFields.map(\.0)) func numbersInTheJournalsHead(offset: Int) throws {
        let count = Self.headFields.first { $0.0 == offset }!.1
        for edge in Self.edges {
            let test = try TestVault()
            try test.create("file").write([1, 2, 3], at: 0)
            try test.vault.close()
            let handle = try FileHandle(forUpdating: URL(filePath: test.path + "/lk.journal"))
            var bytes = Array(try #require(try handle.read(upToCount: JournalHead.byteCount)))
            put(edge, count, &bytes, at: offset)
            let tag = unsafe test.vault.keys.journal.tag(
                of: bytes.span.bytes.extracting(0..<JournalHead.signedByteCount))
            for (index, byte) in tag.enumerated() { bytes[JournalHead.signedByteCount + index] = byte }
            try handle.seek(toOffset: 0)
            try handle.write(contentsOf: bytes)
            try handle.close()
            _ = try? test.next(isReadOnly: true).openRoot()
            if let (vault, root) = try? test.afterDeath() {
                try? use("file", in: root, of: vault)
                try vault.close()
            }
            try repair(test)
            let (vault, root) = try test.afterDeath()
            _ = try vault.entries(of: root)
        }
    }

    /// The numbers of a record: which blocks, which generations, of which length.
    @Test(arguments: edges) func numbersInARecord(edge: UInt64) throws {
        for kind in [JournalRecord.Kind.file, .block, .header, .forget, .duplicate, .hole] {
            let test = try TestVault()
            let file = try test.create("file")
            try file.write([UInt8](repeating: 1, count: 9000), at: 0)
            try file.synchronize(dataOnly: true)
            try file.write([UInt8](repeating: 2, count: 100), at: 50)
            let journal = try test.vault.openJournal()
            let path = Array(try test.vault.storedName("file", in: test.root).name.bytes)
            let payload: [UInt8] =
                switch kind {
                case .file: path
                case .duplicate: DuplicateNote(file: file.identifier, path: path).encoded
                case .block: [UInt8](repeating: 3, count: 4128)
                default: []
                }
            for (generation, number) in [(edge, 0), (0, edge), (edge, edge)] {
                let record = JournalRecord(
                    kind, of: file.identifier, generation: generation, number: number, payloadCount: payload.count)
                _ = try unsafe journal.append(record, of: file.identity, payload.span.bytes)
            }
            try file.persistLength()
            try file.synchronize(dataOnly: true)
            _ = try? test.next(isReadOnly: true).openRoot()
            if let (vault, root) = try? test.afterDeath() {
                try? use("file", in: root, of: vault)
            }
            try expectSmall(test)
        }
    }
}
