import Crypto
public import Format
import Glibc
public import Keybag
import Posix
import Store
import TestSecrets
import TestSupport
import TestVaults
public import Vault

/// A vault with files of every class and of sizes around the borders of blocks, in an earlier state and in the present
/// one, with everything that its owner knows of it.
public final class TamperScene {
    public static let passcode = "correct horse"
    public static let classes: [ProtectionClass] = [
        .complete, .completeUnlessOpen, .completeUntilFirstUserAuthentication, .none,
    ]

    public let folder: BackingFolder
    public let keyPath: String
    public let recoveryKey: [UInt8]
    public let keys: VolumeKeys
    public let ring: KeyRing
    public private(set) var knowledge = Knowledge()
    /// The vault before its files were written again.
    public private(set) var old = BackingImage()
    /// The present vault.
    public private(set) var current = BackingImage()
    /// What each path shows.
    public private(set) var written: [String: Seen] = [:]

    public init() throws {
        try SecureHeap.initialize()
        folder = try BackingFolder()
        keyPath = folder.path + ".key"
        let store = try DirectoryStore(path: Path(folder.path))
        let recovery = try Secret(random: 32)
        let made = try makeVault(
            in: store, deviceKeyPath: keyPath, passcode: try secret(Self.passcode), recoveryKey: recovery)
        keys = made.keys
        ring = made.ring
        ring.install(try made.unlock(passcode: try secret(Self.passcode)))
        recoveryKey = recovery.exposed

        var contents: [String: [UInt8]] = [:]
        try session { try PlainTree($0, $1, version: 1, contents).makeAll(&contents) }
        old = try folder.image()
        try learn(old, contents)
        try session { try PlainTree($0, $1, version: 2, contents).changeAll(&contents) }
        try leaveAsCrashesDo(&contents)
        current = try folder.image()
        try learn(current, contents)
        try folder.hold(current, afresh: true)
        for path in knowledge.paths { written[path] = knowledge.expected(path, in: current) }
    }

    deinit { removeDeviceKey(keyPath) }

    public static let traits = StoreTraits.ofTests

    /// Opens the vault in the folder anew, so that nothing of it is in memory.
    public func open(isReadOnly: Bool) throws -> (vault: Vault, root: Directory) {
        let vault = Vault(
            store: try DirectoryStore(path: Path(folder.path)), keys: keys, ring: ring, traits: Self.traits,
            isReadOnly: isReadOnly, journalSize: .smallest)
        return (vault, try vault.openRoot())
    }

    /// From mount to unmount.
    private func session(_ body: (Vault, Directory) throws -> Void) throws {
        let (vault, root) = try open(isReadOnly: false)
        try body(vault, root)
        try vault.synchronize()
        try vault.close()
    }

    /// The path of an entry in the vault's folder, from the folder's path.
    public func backing(_ path: String) -> String { knowledge.backing[path]! }

    /// The paths of everything of one kind.
    public func paths(where isWanted: (Seen) -> Bool) -> [String] {
        knowledge.paths.filter { isWanted(written[$0]!) }
    }

    /// One name of each file.
    public var files: [String] {
        var known: Set<Int> = []
        return paths { if case .file = $0 { true } else { false } }
            .filter { known.insert(current.names[backing($0)]!).inserted }
    }

    public var folders: [String] { paths { if case .folder = $0 { true } else { false } } }

    public var links: [String] { paths { if case .link = $0 { true } else { false } } }

    // MARK: -

    private func learn(_ image: BackingImage, _ contents: [String: [UInt8]]) throws {
        try folder.hold(image, afresh: true)
        let (vault, root) = try open(isReadOnly: true)
        var scholar = Scholar(image, contents, vault, keys)
        try scholar.learn(root, at: "", &knowledge)
    }

    /// States that only a crash leaves behind, made of whole files with the keys of their owner.
    private func leaveAsCrashesDo(_ contents: inout [String: [UInt8]]) throws {
        var image = try folder.image()
        let (vault, root) = try open(isReadOnly: true)
        for code in Self.classes.map(\.letter) {
            let parent = try vault.openDirectory(Name(bytes: code.utf8)!, in: root)
            let prefix = try vault.backingPath(of: Name(bytes: code.utf8)!, in: root, at: "") + "/"
            func binding(_ name: Name) -> NameBinding {
                NameBinding(unsafe keys.bindings.tag(of: parent.identifier.bytes.span.bytes, name.bytes.span.bytes))
            }
            func edit(_ name: Name, _ change: (inout FileHeader) throws -> Void) throws {
                let path = prefix + (try vault.backingPath(of: name, in: parent, at: ""))
                var header = try unsafe FileHeader(decoding: Array(image.bytes(path)[..<512]).span.bytes)
                try change(&header)
                header.generation += 1
                let signed = header.signed(by: keys)
                image.edit(path) { $0.replaceSubrange(..<512, with: signed) }
            }
            try edit("unsynced") { $0.length = 4096 }
            try edit("never synced") { $0.length = 0 }
            try edit("renamed") { $0.bindings.append(binding("pending")) }
            try edit("classed") { header in
                let old = header.protection
                let wrap = try ring.wrap(
                    try ring.unwrap(
                        FileKeyWrap(algorithm: old.wrapAlgorithm, bytes: old.wrap), file: header.file,
                        class: old.protectionClass),
                    file: header.file, class: .none)
                header.bindings.append(binding("declassed"))
                header.pending = FileProtection(
                    protectionClass: .none, isExplicit: true, wrapAlgorithm: wrap.algorithm, wrap: wrap.bytes)
            }
            contents["\(code)/pending"] = contents["\(code)/renamed"]
            contents["\(code)/declassed"] = contents["\(code)/classed"]
        }
        try folder.hold(image, afresh: true)
    }
}

extension ProtectionClass {
    /// A to D.
    public var letter: String { ["A", "B", "C", "D"][Int(rawValue) - 1] }
}
