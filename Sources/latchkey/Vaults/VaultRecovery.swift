import Control
import Crypto
import Daemon
import DeviceKeys
import Failure
import Format
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

    /// Makes a device key where there is none that can be used, and sets the new passcode, which it returns.
    ///
    /// The credential is checked before anything is asked or made.
    ///
    /// - Parameters:
    ///   - proof: how it is known that the vault is the one that was enrolled; nil where the secret shows that, as a recovery key does:
    ///     nobody makes a slot for it who does not know it.
    ///   - isAllowed: throws where a vault with this keybag, and its device key in a TPM or not, cannot be mounted.
    func run(
        _ kind: SecretKind, _ secret: borrowing Secret, _ proof: VaultProofOptions?, newPasscode: SecretSource,
        _ strength: StrengthOptions,
        isAllowed: (KeybagFile, Bool) throws(CommandError) -> Void
    ) throws(CommandError) -> Secret {
        let store = try VaultFolder(vault)
        defer { withExtendedLifetime(store) {} }
        let credential = try withKeybag(of: vault.text) { () throws(Failure) in
            try Credential(kind, reading: secret)
        }
        let found = try withKeybag(of: vault.text) { () throws(Failure) in
            try OpenKeybag.check(credential, in: store.store)
        }
        let file = try withKeybag(of: vault.text) { () throws(Failure) in try OpenKeybag.inspect(store.store) }
        // Before anything is made or asked: a vault of somebody else gets no passcode and no device key.
        try proof?.require(found, of: vault.text, file.volume)
        let plan = try withKeybag(of: vault.text) { () throws(Failure) in
            try RecoveredDeviceKey(
                DeviceKeyArgument.wanted(deviceKey),
                path: deviceKey?.path ?? DeviceKeyFile.defaultPath(for: file.volume), volume: file.volume)
        }
        try isAllowed(file, plan.kind != .software)
        let passcode = try newPasscode.readNew(.newPasscode, strength, isGuarded: plan.kind != .software)
        let setAside = try withKeybag(of: vault.text) { () throws(Failure) in
            let made = try plan.make()
            let setAside = made.setAside
            _ = try OpenKeybag.recover(
                in: store.store, by: credential, newDeviceKey: made.takeKey(), newPasscode: passcode,
                cost: Argon2Cost.calibratedForVaults(), allowingWeak: strength.weak, proof: found)
            return setAside
        }
        plan.tell(setAside: setAside)
        return passcode
    }
}

extension RecoveredDeviceKey {
    /// Says where one lies now that was of no use.
    func tell(setAside: String?) {
        guard let setAside else { return }
        Standard.output("The device key that was there cannot be used on this machine. It lies in \(setAside).")
        Standard.output("The new one is \(path), kept as \(kind.text).")
    }
}

extension Argon2Cost {
    /// What takes this machine about half a second.
    static func calibratedForVaults() throws(Failure) -> Argon2Cost {
        do { return try calibrated() } catch { throw .crypto(error) }
    }
}
