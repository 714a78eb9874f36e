import Administration
import Crypto
import DeviceKeys
import Failure
import Format

/// A vault's recovery as `latchkey mount --recovery` goes through it: what it asks, and what it says.
struct RecoveryDialogue {
    let vault: AbsolutePath
    let deviceKey: DeviceKeyArgument?
    let newPasscode: SecretSource
    let strength: StrengthOptions

    /// Sets the new passcode, which it returns. The credential is checked before anything is asked or made.
    ///
    /// - Parameters:
    ///   - proof: how it is known that the vault is the one that was enrolled; nil where the secret shows that, as a
    ///     recovery key does: a slot for it is made by its holder alone.
    ///   - isAllowed: throws where a vault with this keybag, and its device key in a TPM or not, cannot be mounted.
    func run(
        _ kind: SecretKind, _ secret: borrowing Secret, _ proof: VaultProofOptions?,
        isAllowed: (KeybagFile, Bool) throws(CommandError) -> Void
    ) throws(CommandError) -> Secret {
        let recovery = try withKeybag(of: vault.text) { () throws(Failure) in
            try VaultRecovery(of: vault, kind, secret)
        }
        // Before anything is made or asked: a vault of somebody else gets no passcode and no device key.
        try proof?.require(recovery.proof, of: vault.text, recovery.keybag.volume)
        let plan = try withKeybag(of: vault.text) { () throws(Failure) in
            try recovery.deviceKey(DeviceKeyArgument.wanted(deviceKey), at: deviceKey?.path)
        }
        let isGuarded = plan.kind != .software
        try isAllowed(recovery.keybag, isGuarded)
        let passcode = try newPasscode.readNew(.newPasscode, strength, isGuarded: isGuarded)
        let movedAside = try withKeybag(of: vault.text) { () throws(Failure) in
            try recovery.run(plan, passcode: passcode, allowingWeak: strength.weak)
        }
        plan.tell(movedAside: movedAside)
        return passcode
    }
}

extension RecoveredDeviceKey {
    /// Says where one lies now that was of no use.
    func tell(movedAside: String?) {
        guard let movedAside else { return }
        Standard.output("The device key that was there cannot be used on this machine. It lies in \(movedAside).")
        Standard.output("The new one is \(path), kept as \(kind.text).")
    }
}
