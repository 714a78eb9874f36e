import Crypto
import Format
import Keybag
import Store
import Vault

/// A vault that is not mounted, opened with its device key for a check.
struct CheckedVault {
    let vault: Vault
    private let keybag: OpenKeybag

    /// `lk.keybag` is damaged or missing, and `lk.keybag.old` stands in for it.
    var hasPreviousKeybag: Bool { keybag.isPrevious }
    var volume: String { "\(keybag.volume)" }

    init(in folder: VaultFolder, deviceKeyPath: String?) throws(KeybagError) {
        let volume = try OpenKeybag.inspect(folder.store).volume
        let key = try DeviceKeyFile.load(path: deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume))
        keybag = try OpenKeybag.open(in: folder.store, deviceKey: key, readOnly: true)
        let settings = keybag.settings
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file ? .file : .symbolicLink)
        vault = Vault(store: folder.store, keys: keybag.keys, ring: keybag.ring, traits: traits, isReadOnly: true)
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
