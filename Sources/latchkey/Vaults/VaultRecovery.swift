import Crypto
import Daemon
import Keybag
import Posix
import Store

/// Opens a vault without its device key, or without its passcode: by the recovery key, which brings in new ones.
struct VaultRecovery {
    private let vault: AbsolutePath
    private let deviceKeyPath: String?

    init(of vault: AbsolutePath, deviceKeyPath: String?) {
        self.vault = vault
        self.deviceKeyPath = deviceKeyPath
    }

    /// Makes a device key where there is none, and sets the new passcode, which it returns.
    ///
    /// The recovery key is checked before anything is asked or made.
    func run(recoveryKey: SecretSource, newPasscode: SecretSource) throws(CommandError) -> Secret {
        let text = try recoveryKey.read(.recoveryKey)
        let store = try VaultFolder(vault)
        defer { withExtendedLifetime(store) {} }
        let key = try withKeybag(of: vault.text) { () throws(KeybagError) in
            let key = try RecoveryKeyText.decode(text)
            try OpenKeybag.check(recoveryKey: key, in: store.store)
            return key
        }
        let passcode = try newPasscode.readNew(.newPasscode)
        try withKeybag(of: vault.text) { () throws(KeybagError) in
            let volume = try OpenKeybag.inspect(store.store).volume
            let deviceKey = try DeviceKeyFile.loadOrCreate(
                path: deviceKeyPath ?? DeviceKeyFile.defaultPath(for: volume), volume: volume)
            _ = try OpenKeybag.recover(
                in: store.store, recoveryKey: key, newDeviceKey: deviceKey, newPasscode: passcode,
                cost: Argon2Cost.calibratedForVaults())
        }
        return passcode
    }
}

extension Argon2Cost {
    /// What takes this machine about half a second.
    static func calibratedForVaults() throws(KeybagError) -> Argon2Cost {
        do { return try calibrated() } catch { throw .crypto(error) }
    }
}
