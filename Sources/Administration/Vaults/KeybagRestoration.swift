public import Crypto
public import DeviceKeys
public import Failure
import Format
public import Freshness
import Keybag
public import Posix
import Store
import Vault

/// Restores a keybag from a backup into a vault, which may have lost its own.
public struct KeybagRestoration: ~Copyable {
    private let folder: VaultFolder
    let backup: OpenedBackup

    /// Changes nothing yet.
    ///
    /// - Throws: `notABackup`, `damagedBackup`, `wrongPassphrase`; `otherKeys` or `otherRoot` if it is another vault's.
    public init(of bytes: [UInt8], _ passphrase: borrowing Secret, in folder: VaultFolder) throws(Failure) {
        let backup = try OpenedBackup(bytes, passphrase: passphrase)
        try OpenKeybag.check(backup, for: folder.store)
        try Self.check(backup, opensRootOf: folder.store)
        self.folder = folder
        self.backup = backup
    }

    private static func check(
        _ backup: borrowing OpenedBackup, opensRootOf store: any Store
    ) throws(Failure) {
        let keys = try backup.volumeKeys()
        let settings = backup.settings
        let isSynchronised = try backup.isOfSynchronised(store)
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file || isSynchronised ? .file : .symbolicLink)
        let vault = Vault(
            store: store, keys: keys, ring: KeyRing(volume: keys.volume), traits: traits, isReadOnly: true,
            machine: isSynchronised ? .own(in: keys.volume) : nil)
        do throws(VaultError) { try vault.checkRoot() } catch { throw .otherRoot }
    }

    /// Plans the vault's device key: the existing one if it can be used.
    ///
    /// - Parameters:
    ///   - wanted: how it is to be kept; nil for the way of the existing one.
    ///   - path: the file; nil for the default path.
    public func deviceKey(_ wanted: DeviceKeyKind?, at path: Path?) throws(Failure) -> RecoveredDeviceKey {
        try RecoveredDeviceKey(
            wanted, path: path ?? DeviceKeyFile.defaultPath(for: backup.volume), volume: backup.volume)
    }

    /// Writes the keybag to the vault, with a passcode and this machine's device key.
    ///
    /// - Parameter marks: what was seen of the vault's files, to be remembered here too: of each name, the newer mark
    ///   counts.
    /// - Returns: the new path of an existing device key file that cannot be used, if there was one.
    /// - Throws: `failed` if a mount of a copy of the vault has the file of marks; then nothing has changed.
    public func run(
        _ deviceKey: RecoveredDeviceKey, passcode: borrowing Secret, cost: Argon2Cost, allowingWeak: Bool,
        marks: MarkTable? = nil
    ) throws(Failure) -> Path? {
        let held = marks == nil ? nil : try heldMarks(besides: deviceKey.path)
        let made = try deviceKey.make()
        let movedAside = made.movedAside
        _ = try OpenKeybag.restore(
            backup, in: folder.store, newDeviceKey: made.takeKey(), newPasscode: passcode, cost: cost,
            allowingWeak: allowingWeak)
        if let marks { try take(marks, into: held, besides: deviceKey.path) }
        return movedAside
    }
}
