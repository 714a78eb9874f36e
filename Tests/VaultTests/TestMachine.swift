import Crypto
import Format
import Foundation
import Freshness
import Posix
import Store
import TestSupport
import TestVaults
import Testing

@testable import Keybag
@testable import Vault

/// A machine that remembers how new the files of a vault are, session after session. The vault is removed with the
/// object.
final class TestMachine {
    private let folder: TemporaryFolder
    let vaultPath: String
    private let keys: VolumeKeys
    private let ring: KeyRing
    private var copies = 0
    /// As in a vault that an earlier version has made, if it is false.
    var numbersDirectories = true
    var numbersBlocks = true

    init() throws {
        try SecureHeap.initialize()
        folder = try TemporaryFolder()
        vaultPath = try folder.makeFolder("vault")
        let bundle = try Bundle.generated()
        let volume = VolumeIdentifier([UInt8](1...16))
        keys = try VolumeKeys(volumeKey: try bundle.volumeKey(), volume: volume)
        ring = KeyRing(volume: volume, publicKey: try X25519.publicKey(of: try bundle.privateKeyB()))
        ring.install(try bundle.classKeys())
        try Vault.makeRoot(
            in: try DirectoryStore(path: Path(vaultPath)), keys: keys, traits: .ofTests,
            defaultClass: .completeUntilFirstUserAuthentication)
    }

    /// Another machine, which has a copy of the vault.
    init(of machine: TestMachine, from copy: String) throws {
        folder = try TemporaryFolder()
        vaultPath = folder.path("vault")
        (keys, ring) = (machine.keys, machine.ring)
        try Self.copy(copy, to: vaultPath)
    }

    // MARK: Sessions

    struct Session {
        let vault: Vault
        let root: Directory
        let watch: FreshnessWatch

        var me: Ownership { Ownership(mode: 0o644, user: getuid(), group: getgid()) }

        /// What was found since the last call, by name.
        var verdicts: [Name: Verdict] {
            Dictionary(watch.takeNews().objects.map { ($0.name ?? "?", $0.verdict) }) { first, _ in first }
        }

        func open(_ name: Name, making: Bool = false) throws -> File {
            let file =
                making
                ? try vault.createFile(name, in: root, me, .completeUntilFirstUserAuthentication)
                : try vault.openFile(name, in: root)
            try file.loadKey()
            return file
        }

        /// A file of one byte, made if it is not there.
        func write(_ byte: UInt8, to name: Name) throws {
            let exists = try vault.entries(of: root).contains { $0.name == name }
            let file = try open(name, making: !exists)
            try file.write([byte], at: 0)
            try file.persistLength()
        }

        /// A folder, made if it is not there.
        func folder(_ name: Name) throws -> Directory {
            if !(try vault.entries(of: root).contains { $0.name == name }) {
                try vault.makeDirectory(name, in: root, Ownership(mode: 0o755, user: getuid(), group: getgid()))
            }
            return try vault.openDirectory(name, in: root)
        }

        func setClass(_ protectionClass: ProtectionClass, of name: Name) throws {
            try vault.setDefaultClass(protectionClass, isExplicit: true, of: folder(name))
        }

        func renameFolder(_ old: Name, to new: Name) throws {
            try vault.rename(
                vault.renameEnd(old, in: root), .directory(try vault.openDirectory(old, in: root)),
                to: vault.renameEnd(new, in: root), replaced: nil, RenameKind())
        }

        /// A link in place of what has the name.
        func link(_ name: Name, to target: String) throws {
            let isThere = try vault.entries(of: root).contains { $0.name == name }
            let new: Name = isThere ? "fresh link" : name
            try vault.makeSymbolicLink(
                to: Array(target.utf8), new, in: root, user: getuid(), group: getgid())
            guard isThere else { return }
            try vault.rename(
                vault.renameEnd(new, in: root), .other, to: vault.renameEnd(name, in: root), replaced: nil, RenameKind()
            )
        }

        func target(of name: Name) throws -> String {
            String(decoding: try vault.readSymbolicLink(name, in: root), as: UTF8.self)
        }

        func set(_ attribute: String, to value: String?, of name: Name) throws {
            let (owner, attribute) = (AttributeOwner.file(try vault.openFile(name, in: root)), Array(attribute.utf8))
            guard let value else { return try vault.removeAttribute(attribute, of: owner) }
            try vault.setAttribute(attribute, to: Array(value.utf8), flags: 0, of: owner)
        }

        func attribute(_ attribute: String, of name: Name) throws -> String {
            let owner = AttributeOwner.file(try vault.openFile(name, in: root))
            return String(decoding: try vault.attribute(Array(attribute.utf8), of: owner), as: UTF8.self)
        }

        func read(_ name: Name) throws -> UInt8? { try open(name).contents(1).first }

        func expect(_ byte: UInt8, in name: Name, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let found = try read(name)
            #expect(found == byte, sourceLocation: sourceLocation)
        }

        func remove(_ name: Name) throws {
            var file: FileIdentifier?
            if case .file(let header) = try vault.lookup(name, in: root).details { file = header.file }
            _ = try vault.unlink(name, in: root, of: file) { _ in true }
        }

        func rename(_ old: Name, to new: Name) throws {
            let ends = try (vault.renameEnd(old, in: root).status, vault.renameEnd(new, in: root).status)
            // Two links of one file: rename(2).
            if ends.0?.inode == ends.1?.inode { return }
            var replaced: ReplacedFile?
            if case .file(let header)? = (try? vault.lookup(new, in: root))?.details { replaced = ReplacedFile(header) }
            try vault.rename(
                vault.renameEnd(old, in: root), .file(try vault.openFile(old, in: root)),
                to: vault.renameEnd(new, in: root), replaced: replaced, RenameKind())
        }
    }

    /// Mounts the vault for `body`.
    ///
    /// - Parameters:
    ///   - closing: unmounts it; otherwise the daemon is killed.
    ///   - wrap: wraps the store in one that fails.
    func session(
        _ answer: FreshnessWatch.Answer = .warn, readOnly: Bool = false, closing: Bool = true,
        wrapping wrap: (DirectoryStore) throws -> any Store = { $0 },
        _ body: (Session) throws -> Void
    ) throws {
        let marks = try Marks(path: Path(folder.path("marks")), volume: keys.volume, cipher: keys.marks)
        let watch = FreshnessWatch(marks, answer, remembers: !readOnly)
        var traits = StoreTraits.ofTests
        traits.numbersDirectories = numbersDirectories
        traits.numbersBlocks = numbersBlocks
        let vault = Vault(
            store: try wrap(DirectoryStore(path: Path(vaultPath))), keys: keys, ring: ring, traits: traits,
            isReadOnly: readOnly, journalSize: .smallest, freshness: watch)
        defer { vault.abandon() }
        try body(Session(vault: vault, root: try vault.openRoot(), watch: watch))
        guard closing else { return }
        try vault.close()
        try marks.save()
    }

    /// A file of one byte with several names.
    func makeFile(_ name: Name, linkedTo others: [Name]) throws {
        try session { session in
            try session.write(1, to: name)
            let file = try session.open(name)
            for other in others {
                try session.vault.link(name, in: session.root, file: file, to: other, in: session.root)
            }
        }
    }

    // MARK: The attacker

    /// Copies a vault with its hard links and times.
    private static func copy(_ vault: String, to copy: String) throws {
        try TestSupport.run("cp", ["-a", vault, copy])
    }

    /// Copies the vault as it is.
    func copy() throws -> String {
        copies += 1
        let copy = folder.path("copy \(copies)")
        try Self.copy(vaultPath, to: copy)
        return copy
    }

    /// Puts a file back as it was in a copy. Its backing inode stays if it is there.
    func putBack(_ name: String, from copy: String, removing: Bool = false) throws {
        let stored = try self.stored(name)
        if removing { try FileManager.default.removeItem(atPath: "\(vaultPath)/\(stored)") }
        try TestSupport.run("cp", ["-p", "\(copy)/\(stored)", "\(vaultPath)/\(stored)"])
    }

    /// Puts one block of a file back as it was in a copy, as long as it was then.
    func putBackBlock(_ block: UInt64, of name: String, from copy: String) throws {
        try putBackBlock(block, of: name, fromFile: "\(copy)/\(stored(name))")
    }

    /// - Parameter old: a copy of the backing file, perhaps under another name.
    func putBackBlock(_ block: UInt64, of name: String, fromFile old: String) throws {
        let old = try FileHandle(forReadingFrom: URL(filePath: old))
        let new = try FileHandle(forUpdating: URL(filePath: "\(vaultPath)/\(stored(name))"))
        let offset = BlockGeometry.backingOffset(ofBlock: block)
        for file in [old, new] { try file.seek(toOffset: offset) }
        let bytes = try old.read(upToCount: Int(BlockGeometry.storedBlockSize)) ?? Data()
        try new.write(contentsOf: bytes)
        try new.close()
    }

    /// Puts a folder, a link, or what is in a folder back as it was in a copy.
    ///
    /// - Parameter part: a path in the backing folder, such as that of its record.
    func putBackTree(_ name: String, _ part: String = "", from copy: String) throws {
        let path = try stored(name) + part
        try? FileManager.default.removeItem(atPath: "\(vaultPath)/\(path)")
        try TestSupport.run("cp", ["-a", "\(copy)/\(path)", "\(vaultPath)/\(path)"])
    }

    /// Puts the attributes of a file back as they were in a copy; one that was not there then stays.
    func putBackAttributes(_ name: String, from copy: String) throws {
        let name = try #require(Name(bytes: Array(try stored(name).utf8)))
        let (old, new) = (try DirectoryStore(path: Path(copy)), try DirectoryStore(path: Path(vaultPath)))
        let (oldFile, newFile) = (
            try old.open(name, in: old.root, O_RDONLY, mode: 0), try new.open(name, in: new.root, O_RDWR, mode: 0)
        )
        for attribute in try old.attributeNames(of: oldFile) where attribute != "user.lk" {
            try new.setAttribute(attribute, to: old.attribute(attribute, of: oldFile), flags: 0, of: newFile)
        }
    }

    /// Gives a link the nonce of another one, and one attribute of a file that of another one, as can be done without a
    /// key. Neither opens then.
    func plantNonces(from link: String, in other: String, attributesOf file: String) throws {
        let texts = try [link, other].map {
            try FileManager.default.destinationOfSymbolicLink(atPath: "\(vaultPath)/\(stored($0))")
        }
        // 22 characters of base64url hold 16 bytes.
        let path = "\(vaultPath)/\(try stored(other))"
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: String(texts[0].prefix(22)) + texts[1].dropFirst(22))
        let store = try DirectoryStore(path: Path(vaultPath))
        let name = try #require(Name(bytes: Array(try stored(file).utf8)))
        let backing = try store.open(name, in: store.root, O_RDWR, mode: 0)
        let names = try store.attributeNames(of: backing).filter { $0 != "user.lk" }
        let values = try names.map { try store.attribute($0, of: backing) }
        try store.setAttribute(names[1], to: Array(values[0][..<16] + values[1][16...]), flags: 0, of: backing)
    }

    /// Copies each name of a file that has several, as rsync does without --hard-links.
    ///
    /// - Parameter keeping: the other names stay links of one file.
    func breakLinks(of name: String, keeping: Bool) throws {
        let names = keeping ? [name] : ["a", "b", "c"]
        for name in names {
            let path = "\(vaultPath)/\(try stored(name))"
            try TestSupport.run("sh", ["-c", "cp -p '\(path)' '\(path).copy' && mv '\(path).copy' '\(path)'"])
        }
    }

    /// Gives a file a name that it had before, behind the vault's back.
    func linkBack(_ name: String, to other: String) throws {
        try FileManager.default.linkItem(
            atPath: "\(vaultPath)/\(stored(other))", toPath: "\(vaultPath)/\(stored(name))")
    }

    func putBackRecordOfRoot(from copy: String) throws {
        try FileManager.default.removeItem(atPath: vaultPath + "/lk.dir")
        try TestSupport.run("cp", ["-a", copy + "/lk.dir", vaultPath + "/lk.dir"])
    }

    /// Adds what a folder of the vault's own had in a copy.
    func putBackFolder(_ name: String, from copy: String) throws {
        try TestSupport.run("cp", ["-a", "\(copy)/\(name)/.", "\(vaultPath)/\(name)"])
    }

    func replaceJournal(with copy: String?) throws {
        try FileManager.default.removeItem(atPath: vaultPath + "/lk.journal")
        guard let copy else { return }
        try FileManager.default.copyItem(atPath: copy + "/lk.journal", toPath: vaultPath + "/lk.journal")
    }

    func putBackAll(from copy: String) throws {
        try FileManager.default.removeItem(atPath: vaultPath)
        try Self.copy(copy, to: vaultPath)
    }

    /// Changes the header of a file, with the keys.
    func forge(_ name: String, _ change: (inout FileHeader) -> Void) throws {
        var header = try self.header(of: name, in: vaultPath)
        change(&header)
        let file = try FileHandle(forUpdating: URL(filePath: vaultPath + "/" + stored(name)))
        try file.write(contentsOf: header.signed(by: keys))
        try file.close()
    }

    func header(of name: String, in copy: String) throws -> FileHeader {
        let bytes = try FileHandle(forReadingFrom: URL(filePath: copy + "/" + stored(name))).read(upToCount: 512)
        return try unsafe FileHeader(decoding: Array(bytes ?? Data()).span.bytes)
    }

    func generation(of name: String) throws -> UInt64 { try header(of: name, in: vaultPath).generation }

    private func stored(_ name: String) throws -> String {
        let vault = Vault(
            store: try DirectoryStore(path: Path(vaultPath)), keys: keys, ring: ring, traits: .ofTests, isReadOnly: true
        )
        return try vault.storedName(Name(bytes: Array(name.utf8))!, in: try vault.readRoot()).name.description
    }
}
