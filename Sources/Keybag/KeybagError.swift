public import Crypto
import Format
public import Posix

/// Why a keybag, a device key file or a recovery key cannot be used. No text holds anything secret.
public enum KeybagError: Error, Hashable, Sendable {
    /// There is no `lk.keybag`.
    case notAVault
    /// There is one where a new one was to be made.
    case alreadyAVault
    /// Made by a program that knows a later format version.
    case foreignVersion(Int)
    /// Uses a feature that this program does not know; it cannot be read, or not be written.
    case foreignFeature
    /// Not what docs/FORMAT.md says; the text says what is not.
    case damaged(String)
    /// Whole, but not as a key's holder left it; the text says what does not fit, and which files to distrust.
    case tampered(String)
    /// It opens no slot. Of a passcode: how many wrong ones there may still be, where there is a limit.
    case wrong(Credential.Kind, GuessesLeft? = nil)
    /// One more wrong passcode would erase the vault's keys, and nobody has said that it may: nothing was tried, and nothing
    /// counted. The limit is of so many in a row.
    case lastGuess(limit: Int)
    /// The text is no recovery key: mistyped, or incomplete.
    case malformedRecoveryKey
    /// What was given is not what a key file holds.
    case notAKeyFile
    /// What was given is no public key of X25519.
    case notAPublicKey
    /// There is no slot with this number.
    case noSuchSlot(UInt32)
    /// Without this slot nothing would open the vault.
    case lastSlot
    /// What was given is no keybag's backup.
    case notABackup
    /// A backup of a keybag that is not whole, or that somebody without its passphrase has changed.
    case damagedBackup
    /// It does not open the backup.
    case wrongPassphrase
    /// The keybag that is there has other keys than the backup: it is another vault's, or from before its keys were changed.
    case otherKeys
    /// The vault is not the one that a proof is of.
    case otherProof
    case deviceKeyMissing(path: String)
    /// What lies at the path is not a device key file, or not a whole one.
    case notADeviceKey(path: String)
    /// The passcodes have a part in a TPM, which this device key, kept as a file, does not lead to.
    case passcodesNeedTPM
    /// A chip would count each try of one passcode as a wrong one of the others.
    case onePasscodeOnly
    /// The device key alone opens the vault: a passcode beside that would protect nothing.
    case hasNoPasscode
    /// The device key is another vault's, or the keybag was changed where the two meet.
    case deviceKeyMismatch
    /// Somebody else has changed the keybag since it was looked at: nothing of this change is done.
    case changedMeanwhile
    /// Bytes of a passcode that is not 1 to 1024 long.
    case passcodeLength(Int)
    /// So many seconds have to pass before the next passcode is tried.
    case tooManyGuesses(seconds: UInt64)
    /// No passcode is tried any more: one more wrong one would erase the vault, and the last try was cut off. The other ways
    /// in open it, and end this.
    case noMoreGuesses
    /// The keys are destroyed. `remains` says what could not be; `limit` is there if it was this wrong passcode that was the last
    /// of so many.
    case erased(limit: Int? = nil, remains: String?)
    /// A new passcode that somebody who has the disk, and knows how people choose, finds within a million guesses.
    case weakPasscode
    /// What the chip that holds the device key says; the text says why.
    case hardware(String)
    /// An Argon2 cost out of the format's bounds.
    case cost(Argon2Cost)
    case io(Errno, doing: String)
    case crypto(CryptoError)

    init(_ error: FormatError) {
        switch error {
        case .tooShort: self = .damaged("the keybag is cut short")
        case .wrongMagic: self = .damaged("the keybag does not begin as one")
        case .unknownVersion(let version): self = .foreignVersion(Int(version))
        case .unknownFeature: self = .foreignFeature
        case .badField(let field): self = .damaged("the keybag's \(field) is not what the format allows")
        }
    }
}

/// The value of an expression, with its `CryptoError`s turned into this module's.
func crypto<R: ~Copyable>(_ expression: @autoclosure () throws(CryptoError) -> R) throws(KeybagError) -> R {
    do { return try expression() } catch { throw .crypto(error) }
}

/// The value of an expression, with its `Errno`s turned into this module's.
func io<R: ~Copyable>(
    _ doing: String, _ expression: @autoclosure () throws(Errno) -> R
) throws(KeybagError) -> R {
    do { return try expression() } catch { throw .io(error, doing: doing) }
}

/// The value of an expression, with its `FormatError`s turned into this module's.
func format<R: ~Copyable>(_ expression: @autoclosure () throws(FormatError) -> R) throws(KeybagError) -> R {
    do { return try expression() } catch { throw KeybagError(error) }
}
