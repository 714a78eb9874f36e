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
            Dictionary(watch.takeNews().files.map { ($0.name, $0.verdict) }) { first, _ in first }
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
        let vault = Vault(
            store: try wrap(DirectoryStore(path: Path(vaultPath))), keys: keys, ring: ring, traits: .ofTests,
            isReadOnly: readOnly, journalSize: .smallest, freshness: watch)
        defer { vault.abandon() }
        try body(Session(vault: vault, root: try vault.openRoot(), watch: watch))
        guard closing else { return }
        try vault.close()
        try marks.save()
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
