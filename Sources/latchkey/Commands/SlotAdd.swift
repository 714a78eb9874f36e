import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Format
import Keybag
import Posix

extension SlotCommand {
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a slot: one more way to open a vault.",
            discussion: """
                A recovery key is shown once, or written to a new file; a key file is made. Both exist before the \
                vault accepts them: if the command fails, they open nothing. A security key has to be touched three \
                times. If it has a PIN, the PIN is asked for here, and whenever the key opens the vault.
                """
                    + Examples.of(
                        "latchkey slot add key-file --new-file /media/stick/vault.key ~/vault",
                        "latchkey slot add fido2 --name blue ~/vault",
                        "latchkey slot add recovery-key ~/vault"))

        enum Kind: String, ExpressibleByArgument, CaseIterable {
            case passcode
            case keyFile = "key-file"
            case recoveryKey = "recovery-key"
            case escrowKey = "escrow-key"
            case securityKey = "fido2"
        }

        @OptionGroup var credential: CredentialOptions
        @OptionGroup var newPasscode: NewPasscodeOptions
        @OptionGroup var strength: StrengthOptions

        @Option(
            help: ArgumentHelp(
                "A new file, 0600, for the key file; or for the recovery key, instead of showing it.",
                valueName: "file"))
        var newFile: Path?

        @Option(help: ArgumentHelp("For an escrow key: the X25519 public key, in PEM.", valueName: "file"))
        var publicKey: Path?

        @Option(
            help: ArgumentHelp("A name for the slot.", valueName: "text"),
            transform: textOnly)
        var name = ""

        @Argument(help: ArgumentHelp("passcode, key-file, fido2, recovery-key or escrow-key.", valueName: "kind"))
        var kind: Kind

        @OptionGroup var argument: PathArgumentOptions

        func validate() throws {
            guard name.utf8.count <= 255 else { throw ValidationError("A name has at most 255 bytes.") }
            if kind == .keyFile, newFile == nil { throw ValidationError("A key file needs --new-file.") }
            if kind == .escrowKey, publicKey == nil { throw ValidationError("An escrow key needs --public-key.") }
            if newFile != nil, kind != .keyFile, kind != .recoveryKey {
                throw ValidationError("--new-file is for a key file or a recovery key.")
            }
            if publicKey != nil, kind != .escrowKey { throw ValidationError("--public-key is for an escrow key.") }
            if kind == .securityKey, credential.securityKey, credential.securityKeyOptions.hasPIN {
                throw ValidationError("With two security keys each one's PIN is asked for at the terminal.")
            }
            if newPasscode.isGiven, kind != .passcode {
                throw ValidationError("A new passcode is for a slot of the kind passcode.")
            }
        }

        func run() throws {
            let slots = try argument.slots()
            try NewSecretFile.check(newFile)
            let publicKey = try publicKey.map { path throws(CommandError) in try EscrowKeyFile.publicKey(in: path) }
            var opening = Opener(try credential.kind(for: slots))
            let secret = try PasscodeTries.repeating(credential.asks(opening.kind)) { () throws(CommandError) in
                let secret = try credential.read(
                    opening.kind, vault: slots.vault, deviceKey: argument.deviceKey?.path,
                    isAddingKey: kind == .securityKey)
                // Finds a mistake before a new key is shown in vain.
                _ = try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                    opening.mayBeLast = mayBeLast
                    return try slots.test(opening, secret)
                }
                return secret
            }
            let added: Int
            switch kind {
            case .passcode:
                let new = try newPasscode.source.readNew(
                    .newPasscode.of(slots.vault), strength, isGuarded: slots.isGuarded)
                added = try slots.add(
                    NewSecret(.passcode, new, allowingWeak: strength.weak), name: name, opening: opening, secret)
            case .escrowKey:
                added = try slots.add(
                    NewSecret(escrow: String(hexadecimal: publicKey!)), name: name, opening: opening, secret)
            case .recoveryKey:
                added = try make(
                    .recoveryKey, { () throws(CryptoError) in try RecoveryKeyText.encode(RecoveryKeyText.generate()) },
                    slots, opening, secret)
            case .securityKey:
                added = try slots.add(
                    SecurityKeys(of: slots.vault, credential.securityKeyOptions).newSecret(), name: name,
                    opening: opening, secret)
            case .keyFile:
                added = try make(.keyFile, KeyFile.generate, slots, opening, secret)
            }
            Standard.output("Slot \(added) is added.")
            if kind == .escrowKey, let proof = try slots.proof() { tellOfProof(proof) }
        }

        /// Makes a secret, shows it or writes it to its file, and then adds a slot for it.
        private func make(
            _ kind: SecretKind, _ generate: () throws(CryptoError) -> Secret, _ slots: WordedSlots,
            _ opening: Opener, _ secret: borrowing Secret
        ) throws(CommandError) -> Int {
            let made = try wrapping(generate)
            return try NewSecretFile.handOut(made, to: newFile) { () throws(CommandError) in
                let added = NewSecret(kind, try wrapping { () throws(CryptoError) in try made.copy() })
                return try slots.add(added, name: name, opening: opening, secret)
            }
        }

        private func wrapping(_ body: () throws(CryptoError) -> Secret) throws(CommandError) -> Secret {
            do throws(CryptoError) { return try body() } catch { throw CommandError(.failed, "\(error)") }
        }
    }
}
