public import Crypto
public import Format
import Glibc
public import Keybag
import Posix
public import Store
import TestSecrets
import TestStores
import TestVaults
public import Vault

/// The keys of one vault, reused for each opening of its states.
public final class VaultKeys: Sendable {
    private let devicePath: String
    private let keybag: OpenKeybag
    /// The keys of the volume.
    var volume: VolumeKeys { keybag.keys }
    private let traits = StoreTraits.ofTests

    public static let passcodeText = "correct horse"

    public static func passcode() throws -> Secret {
        try secret(passcodeText)
    }

    /// Makes a vault in an empty folder, or in one of its folders, with its device key beside the folder.
    public convenience init(in folder: StateFolder, at path: String = ".") throws {
        try SecureHeap.initialize()
        let store = try DirectoryStore(path: Path("\(folder.path)/\(path)"))
        _ = try makeVault(
            in: store, deviceKeyPath: folder.keyPath, passcode: Self.passcode(), recoveryKey: Secret(random: 32))
        try store.synchronizeAll()
        try self.init(of: store, deviceKey: folder.keyPath)
    }

    /// The keys of an existing vault, perhaps one that another process made.
    public init(of store: any Store, deviceKey path: String) throws {
        devicePath = path
        keybag = try OpenKeybag.open(
            in: store, deviceKey: try DeviceKeyFile.load(path: Path(path), counting: false), readOnly: true)
        keybag.ring.install(try classKeys())
    }

    public func classKeys() throws -> ClassKeys { try keybag.unlock(passcode: try Self.passcode()) }

    /// Opens the vault in a folder as a mount does, by the keybag and the root, and reads all of it. Returns what is
    /// wrong: the vault does not open, `check` finds something, or using the vault fails.
    ///
    /// - Parameters:
    ///   - freshness: what the machine remembers. Nothing may be older than that.
    ///   - seed: for the use of the vault; nil to skip it.
    ///   - spared: tells which files may have any contents, and so are not used.
    public func check(
        _ folder: StateFolder, usingWith seed: UInt64? = nil,
        sparing spared: (FileIdentifier) -> Bool = { _ in false },
        remembering freshness: FreshnessWatch? = nil,
        _ check: (Observation) throws -> [Violation]
    ) rethrows -> [Violation] {
        let opened: (vault: Vault, root: Directory)
        do { opened = try open(folder, remembering: freshness) } catch { return [Violation(.closed, "\(error)")] }
        // A vault that is not closed keeps, for ever, the files that are not checkpointed, and their keys.
        defer { opened.vault.abandon() }
        let observation = Observation(of: opened.vault, root: opened.root)
        let violations = try check(observation) + (freshness?.violations ?? [])
        guard let seed, violations.isEmpty, observation.violations.isEmpty else { return violations }
        let use = Use(of: opened.vault, opened.root, observation, seed: seed, sparing: spared)
        do {
            // As if the daemon had been killed at this moment.
            let copy = try StateFolder()
            try copy.hold(contentsOf: folder)
            try opened.vault.close()
            let next = try open(copy)
            defer { next.vault.abandon() }
            return use.violations + use.violations(in: Observation(of: next.vault, root: next.root))
        } catch { return use.violations + [Violation(.stuck, "next time: \(error)")] }
    }

    func open(
        _ folder: StateFolder, remembering freshness: FreshnessWatch? = nil
    ) throws -> (vault: Vault, root: Directory) {
        try open(in: DirectoryStore(path: Path(folder.path)), remembering: freshness)
    }

    /// The vault in a store, opened as a mount does.
    func open(
        in base: any Store, remembering freshness: FreshnessWatch? = nil
    ) throws -> (vault: Vault, root: Directory) {
        let store = UnallocatingStore(base)
        _ = try keybag(in: store)
        let vault = vault(over: store, freshness: freshness)
        return (vault, try vault.openRoot())
    }

    /// The keybag of a store that holds the vault.
    public func keybag(in store: any Store) throws -> OpenKeybag {
        try OpenKeybag.open(in: store, deviceKey: try DeviceKeyFile.load(path: Path(devicePath), counting: false))
    }

    /// The vault over a store that holds it, not yet read.
    public func vault(
        over store: any Store, journalSize: JournalSize = .smallest, freshness: FreshnessWatch? = nil
    ) -> Vault {
        Vault(
            store: store, keys: keybag.keys, ring: keybag.ring, traits: traits, isReadOnly: false,
            journalSize: journalSize, freshness: freshness)
    }
}

extension FreshnessWatch {
    /// One for each file that was taken for an older version: no crash leaves one that is older than what was durable.
    var violations: [Violation] {
        let journal = journal == .seen ? [] : [Violation(.stale, "the journal: \(journal)")]
        return journal
            + takeNews().objects.map { stale in
                Violation(
                    .stale, "\(stale.place), \(stale.kind): \(stale.verdict), seen \(stale.remembered)")
            }
    }
}
