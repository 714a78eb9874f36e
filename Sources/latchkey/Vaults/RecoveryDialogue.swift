import Administration
import Crypto
import DeviceKeys
import Failure
import Format

/// The dialogue of `latchkey mount --recovery`: its questions and messages.
struct RecoveryDialogue {
    let vault: AbsolutePath
    let deviceKey: DeviceKeyArgument?
    let newPasscode: SecretSource
    let strength: StrengthOptions

    /// Sets and returns the new passcode. The credential is checked before anything is asked or made.
    ///
    /// - Parameters:
    ///   - proof: how the user knows that the vault is the enrolled one; nil for a recovery key, which shows that by
    ///     itself: only its holder can make a slot for it.
    ///   - isAllowed: throws if the policy forbids to mount a vault with this keybag, its device key in a TPM or not.
    func run(
        _ kind: SecretKind, _ secret: borrowing Secret, _ proof: VaultProofOptions?,
        isAllowed: (KeybagFile, Bool) throws(CommandError) -> Void
    ) throws(CommandError) -> Secret {
        let recovery = try withKeybag(of: vault.text) { () throws(Failure) in
            try VaultRecovery(of: vault, kind, secret)
        }
        // First of all: another person's vault must not get a passcode and a device key.
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
    /// Reports the new path of a device key file that could not be used.
    func tell(movedAside: String?) {
        guard let movedAside else { return }
        Standard.output("The device key that was there cannot be used on this machine. It lies in \(movedAside).")
        Standard.output("The new one is \(path), kept as \(kind.text).")
    }
}
