import Crypto
import Format
import Keybag
import Store
import Vault

/// A vault that is not mounted, opened with its device key for a check.
struct CheckedVault {
    let vault: Vault
    private let keybag: OpenKeybag

    /// `lk.keybag` was damaged or missing, and `lk.keybag.old` stands in for it.
    let hasPreviousKeybag: Bool
    var volume: String { "\(keybag.volume)" }

    /// - Parameter isRepaired: it may be written to: a keybag that stands in for another takes its place.
    init(in folder: VaultFolder, deviceKeyPath: String?, isRepaired: Bool) throws(KeybagError) {
        let volume = try OpenKeybag.inspect(folder.store).volume
        func open(readOnly: Bool) throws(KeybagError) -> OpenKeybag {
            let key = try DeviceKeyFile.load(path: deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume))
            return try OpenKeybag.open(in: folder.store, deviceKey: key, readOnly: readOnly)
        }
        let found = try open(readOnly: true)
        hasPreviousKeybag = found.isPrevious
        keybag = isRepaired ? try open(readOnly: false) : found
        let settings = keybag.settings
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file ? .file : .symbolicLink)
        vault = Vault(
            store: folder.store, keys: keybag.keys, ring: keybag.ring, traits: traits,
            isReadOnly: !isRepaired)
    }

    /// Brings the keys of all classes in.
    func unlock(_ secret: borrowing Secret, isRecoveryKey: Bool, of path: String) throws(CommandError) {
        let keys: ClassKeys
        do {
            keys =
                isRecoveryKey
                ? try keybag.unlock(recoveryKey: RecoveryKeyText.decode(secret))
                : try keybag.unlock(passcode: secret)
        } catch {
            throw CommandError(error, of: path)
        }
        vault.admit(keys)
    }

    /// The classes whose contents can be read, by their letters.
    var readableClasses: [String] { ProtectionClass.allCases.filter(vault.canOpen).map(\.letter) }
}
