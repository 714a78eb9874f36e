import Keybag
import Posix

extension CommandError {
    /// Why the keybag, device key or recovery key of `vault` cannot be used.
    init(_ error: KeybagError, of vault: String) {
        let typed = vault.quoted
        switch error {
        case .notAVault:
            self.init(.notFound, "\(vault) is not a vault", try: "latchkey init \(typed)")
        case .alreadyAVault:
            self.init(.failed, "\(vault) is a vault already", try: "latchkey mount \(typed) DIR")
        case .foreignVersion(let version):
            self.init(
                .failed, "\(vault) has format version \(version), which this latchkey does not know",
                try: "latchkey --version")
        case .foreignFeature:
            self.init(
                .failed, "\(vault) uses a feature that this latchkey does not know", try: "latchkey --version")
        case .damaged(let what):
            self.init(.damaged, "the vault \(vault) is damaged: \(what)")
        case .tampered(let what):
            self.init(.damaged, "someone without the keys has changed the vault \(vault): \(what)")
        case .wrong(.passcode, let left):
            self.init(
                .wrongPasscode, Self.wrongPasscode(left.map { ($0.number, $0.limit) }, "nothing was changed"),
                try: "latchkey mount --recovery \(typed) DIR   (for a forgotten one, with the recovery key)")
        case .lastGuess(let limit):
            self.init(lastTryOf: limit)
        case .wrong(.recoveryKey, _):
            self.init(.wrongPasscode, "the recovery key is not this vault's; nothing was changed")
        case .wrong(.keyFile, _):
            self.init(.wrongPasscode, "the key file opens no slot of this vault; nothing was changed")
        case .wrong(.escrowKey, _):
            self.init(.wrongPasscode, "the private key opens no slot of this vault; nothing was changed")
        case .wrong(.securityKey, _):
            self.init(
                .wrongPasscode, "the security key opens no slot of this vault; nothing was changed",
                try: "latchkey slot list \(typed)")
        case .wrong(.noPasscode, _):
            self.init(.wrongPasscode, "the device key alone opens no slot of this vault; nothing was changed")
        case .notAKeyFile:
            self.init(.wrongPasscode, "this is no key file, or not a whole one; nothing was changed")
        case .notAPublicKey:
            self.init(.failed, "this is no public key of X25519; nothing was changed")
        case .noSuchSlot(let slot):
            self.init(.failed, "there is no slot \(slot); nothing was changed", try: "latchkey slot list \(typed)")
        case .lastSlot:
            self.init(
                .failed, "nothing else would open the vault: the slot stays", try: "latchkey slot add KIND \(typed)")
        case .changedMeanwhile:
            self.init(.failed, "the keybag was changed meanwhile; nothing of this was done", try: "the same again")
        case .malformedRecoveryKey:
            self.init(
                .wrongPasscode,
                "this is no recovery key: it has 52 letters and digits, and one of them is missing or mistyped")
        case .otherProof: self.init(otherProofThan: vault)
        case .notABackup: self.init(.failed, "this is no backup of a keybag")
        case .damagedBackup:
            self.init(.damaged, "the backup is damaged, or somebody without its passphrase has changed it")
        case .wrongPassphrase: self.init(.wrongPasscode, "the passphrase is not this backup's; nothing was changed")
        case .otherKeys:
            self.init(
                .failed,
                "the keybag in \(vault) has other keys than the backup: it is another vault's, or the backup is from before "
                    + "latchkey rotate, and opens no file that has the new keys; nothing was changed",
                try: "mv \(vault.asFolder.quoted)lk.keybag ELSEWHERE   (if it is certain that it is of no use)")
        case .deviceKeyMissing(let path):
            self.init(
                .failed, "the device key of \(vault) is not at \(path)", try: "the same with --device-key PATH",
                "latchkey mount --recovery \(typed) DIR   (with the recovery key; makes a new device key)")
        case .notADeviceKey(let path):
            self.init(
                .failed, "\(path) is not a device key file, or not a whole one", try: "the same with --device-key PATH",
                "latchkey mount --recovery \(typed) DIR   (with the recovery key; makes a new device key)")
        case .deviceKeyMismatch:
            self.init(
                .failed, "the device key belongs to another vault than \(vault), or the vault's keybag is damaged",
                try: "the same with --device-key PATH"
            )
        case .passcodeLength(let count):
            self.init(.failed, "a passcode has 1 to \(SecretReader.largest) bytes, this one has \(count)")
        case .tooManyGuesses(let seconds):
            self.init(tooManyGuesses: seconds)
        case .noMoreGuesses:
            self.init(
                .wrongPasscode,
                "no passcode is tried any more: a wrong one would erase the vault, and the last try was cut off",
                try: "the same with --recovery")
        case .erased(let limit, let remains):
            self.init(
                .wrongPasscode,
                (limit.map { "wrong passcode. That was \(Self.last(of: $0)), so the vault's keys were erased" }
                    ?? "the keys of \(vault) were erased: no passcode opens it any more")
                    + (remains.map { ", but not all could be destroyed: \($0)" } ?? ""))
        case .passcodesNeedTPM, .onePasscodeOnly, .hasNoPasscode:
            self.init(.failed, "\(error.rule ?? "")")
        case .weakPasscode:
            self.init(
                .failed,
                "the passcode is too weak: who has the disk, and knows how people choose, finds it within a million guesses; "
                    + "nothing was changed",
                try: "five random words", "the same with --weak   (if that is no matter)")
        case .cost(let cost):
            self.init(
                .failed,
                "a passcode may cost 19 to 4096 MiB and 2 to 64 passes, not \(cost.memoryKiB / 1024) MiB and "
                    + "\(cost.passes)")
        case .io(let errno, let doing):
            self.init(.failed, "\(doing): \(errno)")
        case .crypto(let error):
            self.init(.failed, "\(error)")
        case .hardware(let reason):
            self.init(.failed, "\(reason)")
        }
    }
}

extension CommandError {
    /// A passcode was not tried.
    init(tooManyGuesses seconds: UInt64) {
        let wait = seconds < 90 ? "\(seconds) seconds" : "\((seconds + 59) / 60) minutes"
        self.init(
            .wrongPasscode, "too many wrong passcodes: the next is tried in \(wait); this one was not",
            try: "the same with --recovery   (which need not wait)")
    }
}

extension CommandError {
    /// As in "this is …".
    static func last(of attempts: Int) -> String {
        attempts == 1 ? "the only attempt" : "the last of \(attempts) attempts"
    }

    /// What a person is told of a wrong passcode.
    ///
    /// - Parameters:
    ///   - left: how many wrong ones there may still be, and of how many; nil where there is no limit.
    ///   - otherwise: what is told then, besides.
    static func wrongPasscode(_ left: (number: Int, limit: Int)?, _ otherwise: String) -> Printable {
        guard let left else { return "the passcode is wrong; \(otherwise)" }
        return
            "wrong passcode; \(left.number) of \(left.limit) attempts \(left.number == 1 ? "is" : "are") left before the "
            + "vault's keys are erased"
    }
}

/// Runs `body`; its errors become words about `vault`.
func withKeybag<R: ~Copyable>(
    of vault: String, _ body: () throws(KeybagError) -> R
) throws(CommandError) -> R {
    do { return try body() } catch { throw CommandError(error, of: vault) }
}
