import Crypto
import Format
import Foundation
import Posix
import Store
import Synchronization
import TestSupport
import Testing

@testable import Keybag
@testable import Vault

/// A vault in a temporary folder, with all class keys; removed with the object.
final class TestVault: Sendable {
    private let folder: TemporaryFolder
    let path: String
    let store: any Store
    let vault: Vault
    let ring: KeyRing
    let root: Directory
    private let bundle: Keybag.Bundle
    /// Released at the end: a vault that is not closed keeps the files, and their keys, that are not checkpointed.
    private let others = Mutex<[Vault]>([])

    /// - Parameters:
    ///   - isPrivileged: nil for what this process is.
    ///   - wrap: wraps the real store in one that fails or records.
    init(
        isPrivileged: Bool? = nil, recordKind: StoreTraits.RecordKind = .symbolicLink,
        journalSize: JournalSize = .usual,
        wrapping wrap: (DirectoryStore) throws -> any Store = { $0 }
    ) throws {
        try SecureHeap.initialize()
        folder = try TemporaryFolder()
        path = try folder.makeFolder("vault")
        // Else the calls that are counted and failed would differ from machine to machine.
        store = try wrap(try DirectoryStore(path: Path(path), looksForOrder: false))
        bundle = try Bundle.generated()
        let volume = VolumeIdentifier([UInt8](1...16))
        let keys = try VolumeKeys(volumeKey: try bundle.volumeKey(), volume: volume)
        ring = KeyRing(volume: volume, publicKey: try X25519.publicKey(of: try bundle.privateKeyB()))
        ring.install(try bundle.classKeys())
        let traits = StoreTraits(nameMax: 255, recordKind: recordKind)
        try Vault.makeRoot(
            in: store, keys: keys, traits: traits, defaultClass: .completeUntilFirstUserAuthentication)
        vault = Vault(
            store: store, keys: keys, ring: ring, traits: traits, isReadOnly: false,
            isPrivileged: isPrivileged ?? (geteuid() == 0), journalSize: journalSize)
        root = try vault.openRoot()
    }

    /// The vault as the next daemon finds it when this one has died: without anything of its memory.
    func afterDeath() throws -> (vault: Vault, root: Directory) {
        let next = next(isReadOnly: false)
        return (next, try next.openRoot())
    }

    /// The vault as another program sees it; not read yet.
    func next(isReadOnly: Bool, journalSize: JournalSize = .usual) -> Vault {
        let next = Vault(
            store: store, keys: vault.keys, ring: ring, traits: vault.traits, isReadOnly: isReadOnly,
            isPrivileged: vault.options.isPrivileged, journalSize: journalSize)
        others.withLock { $0.append(next) }
        return next
    }

    /// All class keys, for a ring that has lost them.
    func keys() throws -> ClassKeys { try bundle.classKeys() }

    deinit {
        vault.abandon()
        for vault in others.withLock({ $0 }) { vault.abandon() }
    }

    var me: Ownership { Ownership(mode: 0o644, user: getuid(), group: getgid()) }

    func create(_ name: Name, _ protectionClass: ProtectionClass? = nil, in parent: Directory? = nil) throws -> File {
        let parent = parent ?? root
        return try vault.createFile(
            name, in: parent, me, try protectionClass ?? vault.classOfNewFile(name, in: parent))
    }

    func makeDirectory(_ name: Name, in parent: Directory? = nil) throws -> Directory {
        let parent = parent ?? root
        try vault.makeDirectory(name, in: parent, Ownership(mode: 0o755, user: getuid(), group: getgid()))
        return try vault.openDirectory(name, in: parent)
    }

    func rename(_ old: Name, to new: Name, in parent: Directory? = nil, newParent: Directory? = nil) throws {
        let parent = parent ?? root
        let newParent = newParent ?? parent
        let target = try? vault.lookup(new, in: newParent)
        var replaced: ReplacedFile?
        if case .file(let header)? = target?.details { replaced = ReplacedFile(header) }
        let moved: Moved =
            switch try vault.lookup(old, in: parent).details {
            case .file: .file(try vault.openFile(old, in: parent))
            case .directory(let directory): .directory(directory)
            case .other: .other
            }
        try vault.rename(
            vault.renameEnd(old, in: parent), moved, to: vault.renameEnd(new, in: newParent), replaced: replaced,
            RenameKind())
    }

    func names(in parent: Directory? = nil) throws -> Set<String> {
        Set(try vault.entries(of: parent ?? root).map(\.name.description))
    }

    /// All names in the backing folder.
    var backingNames: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
    }
}

extension File {
    func write(_ bytes: [UInt8], at offset: UInt64) throws(VaultError) {
        try unsafe write(bytes.span.bytes, at: offset)
    }

    func contents(_ count: Int, at offset: UInt64 = 0) throws(VaultError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        let got: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            got = try read(into: &span, at: offset)
        }
        return Array(bytes.prefix(got))
    }
}
