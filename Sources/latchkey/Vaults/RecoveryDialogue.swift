import Administration
import Control
import Crypto
import DeviceKeys
import Failure
import Format
import Posix

/// The dialogue of `latchkey mount --recovery`: its questions and messages.
struct RecoveryDialogue {
    let vault: AbsolutePath
    let deviceKey: DeviceKeyArgument?
    let newPasscode: SecretSource
    let strength: StrengthOptions
    let claim: ClaimOptions

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
        let recovery = try withKeybag(of: vault.path) { () throws(Failure) in
            try VaultRecovery(of: vault, kind, secret, claim)
        }
        // First of all: another person's vault must not get a passcode and a device key.
        try proof?.require(recovery.proof, of: vault.path, recovery.keybag.volume)
        let plan = try withKeybag(of: vault.path) { () throws(Failure) in
            try recovery.deviceKey(DeviceKeyArgument.wanted(deviceKey), at: deviceKey?.path)
        }
        let isGuarded = plan.kind != .software
        try isAllowed(recovery.keybag, isGuarded)
        let passcode = try newPasscode.readNew(.newPasscode.of(vault.path), strength, isGuarded: isGuarded)
        let movedAside = try withKeybag(of: vault.path) { () throws(Failure) in
            try recovery.run(plan, passcode: passcode, allowingWeak: strength.weak)
        }
        plan.tell(movedAside: movedAside)
        tell(plan, recovery.keybag.slots.map { Slot($0) })
        return passcode
    }

    /// What the recovery has made, and which of the slots before it are gone.
    private func tell(_ plan: RecoveredDeviceKey, _ slots: [Slot]) {
        Standard.output(
            """
            Recovered \(vault.path): it has a new passcode. Its device key is \(plan.path), which \
            \(plan.isNew ? "is new" : "was there").
            """)
        // A recovery keeps slots of unknown kinds.
        let isGone = { (slot: Slot) in SecretKind(rawValue: slot.kind).map { !$0.isPortable } ?? false }
        let (gone, kept) = (slots.filter(isGone), slots.filter { !isGone($0) })
        if !gone.isEmpty {
            Standard.output("These slots are gone, since they needed the device key of before: \(Self.list(gone)).")
        }
        Standard.output("These still open it: \(Self.list(kept)).")
    }

    private static func list(_ slots: [Slot]) -> Printable {
        slots.map { slot -> Printable in
            let kind = SecretKind(rawValue: slot.kind)?.text ?? slot.kind
            return slot.name.isEmpty ? "\(kind) (slot \(slot.id))" : "\(kind) \(slot.name) (slot \(slot.id))"
        }.joined(separator: ", ")
    }
}

extension RecoveredDeviceKey {
    /// Reports the new path of a device key file that could not be used.
    func tell(movedAside: Path?) {
        guard let movedAside else { return }
        Standard.output("The device key that was there cannot be used on this machine. It lies in \(movedAside).")
        Standard.output("The new one is \(path), kept as \(kind.text).")
    }
}
