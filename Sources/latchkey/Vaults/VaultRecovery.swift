import Control
import Crypto
import Daemon
import DeviceKeys
import Keybag
import Posix
import Store

/// Opens a vault without its device key, or without its passcode: by the recovery key or an escrow key, which brings in new
/// ones.
struct VaultRecovery {
    private let vault: AbsolutePath
    private let deviceKey: DeviceKeyArgument?

    init(of vault: AbsolutePath, deviceKey: DeviceKeyArgument?) {
        self.vault = vault
        self.deviceKey = deviceKey
    }

    /// Makes a device key where there is none, and sets the new passcode, which it returns.
    ///
    /// The credential is checked before anything is asked or made.
    func run(
        _ kind: SecretKind, _ secret: borrowing Secret, newPasscode: SecretSource, _ strength: StrengthOptions
    ) throws(CommandError) -> Secret {
        let store = try VaultFolder(vault)
        defer { withExtendedLifetime(store) {} }
        let credential = try withKeybag(of: vault.text) { () throws(KeybagError) in
            let credential = try Credential(Credential.Kind(kind), reading: secret)
            try OpenKeybag.check(credential, in: store.store)
            return credential
        }
        let passcode = try newPasscode.readNew(
            .newPasscode, strength, isGuarded: deviceKey?.isSealed == true)
        try withKeybag(of: vault.text) { () throws(KeybagError) in
            let volume = try OpenKeybag.inspect(store.store).volume
            let deviceKey = try DeviceKeyPlace.loadOrCreate(
                DeviceKeyArgument.kind(deviceKey),
                path: deviceKey?.path ?? DeviceKeyFile.defaultPath(for: volume), volume: volume)
            _ = try OpenKeybag.recover(
                in: store.store, by: credential, newDeviceKey: deviceKey, newPasscode: passcode,
                cost: Argon2Cost.calibratedForVaults(), allowingWeak: strength.weak)
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
