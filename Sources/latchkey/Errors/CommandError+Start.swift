import Control
import Daemon
import Keybag

extension CommandError {
    /// Why `vault` was not mounted on `mountPoint`.
    init(_ error: StartError, mounting vault: String, on mountPoint: String) {
        let (typedVault, typedPoint) = (vault.quoted, mountPoint.quoted)
        switch error.kind {
        case .wrongPasscode:
            self.init(
                .wrongPasscode,
                Self.wrongPasscode(error.guesses.map { ($0.left, $0.limit) }, "nothing was mounted"),
                try: "latchkey mount --unlock \(typedVault) \(typedPoint)")
        case .wrongRecoveryKey:
            self.init(.wrongPasscode, "the recovery key is wrong; nothing was mounted")
        case .tooManyGuesses:
            self.init(tooManyGuesses: UInt64(error.detail) ?? 0)
        case .forbidden:
            self.init(.failed, "\(error.detail)", try: "latchkey policy check \(typedVault)")
        case .noMoreGuesses:
            self.init(KeybagError.noMoreGuesses, of: vault)
        case .lastGuess:
            self.init(lastTryOf: Int(error.detail) ?? 0)
        case .erased:
            self.init(
                KeybagError.erased(limit: error.guesses?.limit, remains: error.detail.isEmpty ? nil : error.detail),
                of: vault)
        case .wrongKey:
            let kind = SecretKind(rawValue: error.detail)?.text ?? "key"
            self.init(.wrongPasscode, "the \(kind) opens no slot of this vault; nothing was mounted")
        case .passcodeLength:
            self.init(
                .failed, "a passcode has 1 to \(SecretReader.largest) bytes, this one has \(error.detail)")
        case .notAVault:
            self.init(.notFound, "\(vault) is not a vault", try: "latchkey init \(typedVault)")
        case .foreignVersion:
            self.init(
                .failed, "\(vault) needs another version of latchkey than this one: \(error.detail)",
                try: "latchkey --version")
        case .damaged:
            self.init(.damaged, "the vault \(vault) is damaged: \(error.detail)")
        case .tampered:
            self.init(.damaged, "someone without the keys has changed the vault \(vault): \(error.detail)")
        case .deviceKeyMissing:
            self.init(
                .failed, "the device key of \(vault) is not at \(error.detail)",
                try: "latchkey mount --device-key PATH \(typedVault) \(typedPoint)",
                "latchkey mount --recovery \(typedVault) \(typedPoint)   (with the recovery key; makes a new device key)"
            )
        case .notADeviceKey:
            self.init(
                .failed, "\(error.detail) is not a device key file, or not a whole one",
                try: "latchkey mount --device-key PATH \(typedVault) \(typedPoint)",
                "latchkey mount --recovery --device-key NEW-PATH \(typedVault) \(typedPoint)   (with the recovery key)")
        case .deviceKeyMismatch:
            self.init(
                .failed, "the device key belongs to another vault than \(vault), or the vault's keybag is damaged",
                try: "latchkey mount --device-key PATH \(typedVault) \(typedPoint)")
        case .vaultInUse:
            self.init(.failed, "the vault \(vault) is mounted already", try: "latchkey status \(typedVault)")
        case .volumeServed:
            self.init(
                .failed, "a vault with the same volume ID, such as a copy of \(vault), is mounted already",
                try: "latchkey status")
        case .mountPoint:
            self.init(.failed, "cannot mount on \(mountPoint): \(error.detail)")
        case .failed:
            self.init(.failed, "cannot mount \(vault): \(error.detail)")
        }
    }
}
