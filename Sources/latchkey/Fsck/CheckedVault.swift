import Administration
import Crypto
import DeviceKeys
import Failure
import Format
import Keybag
import Store
import Vault

/// A vault that is not mounted, opened with its device key for a check.
struct CheckedVault {
    let vault: Vault
    let volume: String
    /// `lk.keybag` was damaged or missing, and `lk.keybag.old` stands in for it.
    let hasPreviousKeybag: Bool

    /// - Parameters:
    ///   - credential: brings the keys of all classes in; tried before anything is changed.
    ///   - isRepaired: it may be written to: a keybag that stands in for another takes its place.
    init(
        in folder: VaultFolder, deviceKeyPath: String?, _ credential: borrowing Credential?, isRepaired: Bool
    ) throws(Failure) {
        let volume = try OpenKeybag.inspect(folder.store).volume
        func open(readOnly: Bool) throws(Failure) -> OpenKeybag {
            let key = try DeviceKeyLocation.load(path: deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume))
            return try OpenKeybag.open(in: folder.store, deviceKey: key, readOnly: readOnly)
        }
        let keybag = try open(readOnly: true)
        hasPreviousKeybag = keybag.isPrevious
        self.volume = "\(keybag.volume)"
        let settings = keybag.settings
        let traits = StoreTraits(
            nameMax: Int(settings.nameMaximum),
            recordKind: settings.directoryRecords == .file ? .file : .symbolicLink)
        vault = Vault(
            store: folder.store, keys: keybag.keys, ring: keybag.ring, traits: traits,
            isReadOnly: !isRepaired)
        switch credential {
        case .none: break
        case .some(let credential): vault.admit(try keybag.unlock(credential))
        }
        if isRepaired { _ = try open(readOnly: false) }
    }

    /// The classes whose contents can be read, by their letters.
    var readableClasses: [String] { ProtectionClass.allCases.filter(vault.canOpen).map(\.letter) }
}
