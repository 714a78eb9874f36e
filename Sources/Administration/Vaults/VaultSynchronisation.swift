public import Control
public import Crypto
import DeviceKeys
public import Failure
import Format
import Keybag
public import Posix
import Store
public import Vault

/// Makes an existing vault a synchronised one: docs/SHARED.md.
///
/// First the keybag says so, then the records of directories become files. A synchronised vault may have records that
/// are links, so it opens after an interruption at any moment, and a second run does the rest.
public struct VaultSynchronisation: Sendable {
    private let folder: VaultFolder
    private let keybag: OpenKeybag
    private let path: Path

    /// Changes nothing yet.
    ///
    /// - Throws: `vaultInUse` and the like if another process has the vault, of this machine or another one.
    public init(
        of vault: AbsolutePath, deviceKeyPath: Path?, _ claim: ClaimOptions = ClaimOptions()
    ) throws(Failure) {
        folder = try VaultFolder(vault, claim)
        path = vault.path
        let volume = try OpenKeybag.inspect(folder.store).volume
        keybag = try OpenKeybag.open(
            in: folder.store,
            deviceKey: DeviceKeyLocation.load(path: deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume)))
    }

    /// Whether the vault is a synchronised one already; some of its records may still be links.
    public var isSynchronised: Bool { keybag.file.isSynchronised }

    /// Whether the device key alone opens the vault.
    public var hasNoPasscode: Bool { keybag.hasNoPasscode }

    /// Whether an interrupted run has left something to do. Changes nothing.
    public func isUnfinished() throws(Failure) -> Bool {
        guard isSynchronised else { return true }
        let vault = vault()
        return try inVault { () throws(VaultError) in
            try vault.hasEarlierJournal ? true : vault.hasRecordLinks()
        }
    }

    /// Writes the keybag, after all that the last session has left in the journal is in place.
    ///
    /// - Throws: what an unlock does, and `damaged` if the journal is. Then the keybag has not changed.
    public func begin(_ opener: Opener, _ secret: borrowing Secret) throws(Failure) {
        try keybag.becomeSynchronised(opening: Credential(opener, reading: secret)) { () throws(Failure) in
            let vault = vault()
            try inVault { () throws(VaultError) in
                _ = try vault.openRoot()
                try vault.close()
            }
        }
    }

    /// Does what is left: the journal becomes this machine's, and records that are links become files.
    public func finish() throws(Failure) -> RecordLinks {
        let vault = vault()
        return try inVault { () throws(VaultError) in
            _ = try vault.openRoot()
            let links: RecordLinks
            do throws(VaultError) {
                try vault.removeEarlierJournal()
                links = try vault.makeRecordsFiles()
            } catch {
                // What it had done stays, and the next session finds no crash.
                try? vault.close()
                throw error
            }
            try vault.close()
            return links
        }
    }

    /// The vault as the keybag describes it now.
    private func vault() -> Vault {
        let (file, settings) = (keybag.file, keybag.settings)
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file ? .file : .symbolicLink,
            numbersDirectories: file.numbersDirectories, numbersBlocks: file.numbersBlocks)
        return Vault(
            store: folder.store, keys: keybag.keys, ring: keybag.ring, traits: traits, isReadOnly: false,
            machine: keybag.machine)
    }

    private func inVault<Result>(_ body: () throws(VaultError) -> Result) throws(Failure) -> Result {
        defer { withExtendedLifetime(folder) {} }
        do throws(VaultError) { return try body() } catch {
            switch error {
            case .damaged(let reason): throw .damaged(reason: reason)
            case .unsupported(let reason): throw .unsupported(reason: reason)
            case .unseen(let reason), .stale(let reason): throw .failed(reason: reason)
            case .locked, .system: throw .file(error.errno, doing: "make a synchronised vault of", path: path)
            }
        }
    }
}
