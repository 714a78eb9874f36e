public import Posix

/// Why an operation on a vault failed: one type for the keybag, the daemon, the control socket and the command line.
/// Only the command line has texts for it.
///
/// The names of a case and of its values are a stable code, which crosses the readiness pipe and the control socket. If
/// `io.latchkey.varlink` has an error of the same name, that is used: `noSuchSlot(slot:)` is `NoSuchSlot(slot)`. No
/// string in a failure is secret.
public enum Failure: Error, Hashable, Codable, Sendable {
    // What opens a vault

    /// The passcode opens no slot. `guesses`: how many are still allowed, if there is a limit.
    case wrongPasscode(guesses: Guesses? = nil)
    /// The recovery key opens no slot.
    case wrongRecoveryKey
    /// A key of another kind opens no slot.
    case wrongKey(kind: SecretKind)
    /// The text is not a recovery key: mistyped, or incomplete.
    case malformedRecoveryKey
    /// The text is not a key file's.
    case notAKeyFile
    /// The text is not an X25519 public key.
    case notAPublicKey
    /// A passcode has 1 to 1024 bytes; this one has `bytes`.
    case passcodeLength(bytes: Int)
    /// The new passcode is weak: an attacker who knows how people choose finds it within a million guesses.
    case weakPasscode
    /// An Argon2 cost outside the format's bounds.
    case cost(memoryKiB: Int, passes: Int)

    // Limits of wrong passcodes

    /// The next passcode is accepted only after this many seconds.
    case tooManyGuesses(seconds: Int)
    /// No passcode is tried any more: one more wrong one would erase the vault, and the last try was interrupted.
    /// Another kind of credential opens the vault, and resets the count.
    case noMoreGuesses
    /// One more wrong passcode would erase the vault's keys, and the call does not allow that: nothing was tried or
    /// counted. `limit`: how many wrong ones in a row are allowed.
    case lastGuess(limit: Int)
    /// The keys are destroyed. `reason`: what could not be destroyed. `limit`: set if this wrong passcode was the last
    /// of so many.
    case erased(limit: Int? = nil, reason: String?)

    // Slots

    /// There is no slot with this number.
    case noSuchSlot(slot: Int)
    /// No other slot would open the vault.
    case lastSlot
    /// The passcodes have a part in a TPM, and this device key is kept in a file.
    case passcodesNeedTPM
    /// A chip would count each try of one passcode as a wrong guess at the others.
    case onePasscodeOnly
    /// The device key alone opens the vault: a passcode in addition would protect nothing.
    case hasNoPasscode

    // The keybag

    /// There is no `lk.keybag`.
    case notAVault
    /// The folder already has a keybag.
    case alreadyAVault
    /// The vault has a later format version.
    case foreignVersion(version: Int)
    /// The vault uses a feature that this program does not know, so it cannot be read, or cannot be written.
    case foreignFeature
    /// The bytes do not follow docs/FORMAT.md; `reason` says where.
    case damaged(reason: String)
    /// Well-formed, but changed without the keys; `reason` says what does not match, and which files to distrust.
    case tampered(reason: String)
    /// The keybag is older than one that this machine has seen; or, in a conflict, another one of the same generation.
    /// `seen`: when it saw that one first, in seconds since 1970, if that is known.
    case olderKeybag(seen: UInt64?, isConflict: Bool)
    /// The keybag is older than one that this machine has seen, and has other keys: what opened it on this machine does
    /// not count any more. Nothing was tried.
    case outdatedCredential(kind: SecretKind)
    /// The newest keybag cannot take the place of the older one: it has other keys, or is not known.
    case beforeRotation
    /// The keybag is as new as any that this machine has seen: there is nothing to accept.
    case notOlder
    /// Another process has changed the keybag since it was read: this change was not made.
    case changedMeanwhile
    /// The vault has another proof than the one given.
    case otherProof

    // A keybag's backup

    /// The file is not a keybag backup.
    case notABackup
    /// The backup is incomplete, or was changed without its passphrase.
    case damagedBackup
    /// The passphrase does not open the backup.
    case wrongPassphrase
    /// The backup's keys do not open the root of the vault: it belongs to another vault, or the root is damaged.
    case otherRoot
    /// The vault's keybag has other keys than the backup: it belongs to another vault, or the keys were changed after
    /// the backup.
    case otherKeys

    // The device key

    case deviceKeyMissing(path: Path)
    /// The file at the path is not a device key file, or is incomplete.
    case notADeviceKey(path: Path)
    /// The device key belongs to another vault, or the keybag's part that identifies it was changed.
    case deviceKeyMismatch
    /// The keybag is for another device key than the one that this machine has for the vault, as after a recovery.
    /// `created`: when the oldest slot for that key was made, in seconds since 1970; no MAC that this machine can check
    /// covers it.
    case recoveredElsewhere(created: UInt64)
    /// The TPM does not release the device key: the machine was started in another way than when the key was sealed.
    case otherPCRs
    /// The device key was sealed by another machine's TPM, or by this one before it was cleared.
    case otherTPM
    /// Any other failure of the TPM; `reason` describes it.
    case hardware(reason: String)

    // A vault that is mounted, or is to be

    /// Another process has the vault open.
    case vaultInUse
    /// According to the vault's claims, another machine works with it. `host`: its name, if the keys that release it
    /// are here; `renewed`: when it last said so, in seconds since 1970 by its own clock.
    case claimed(host: String?, renewed: UInt64?)
    /// The user, or the end of the command that has started it, has ended the wait for another machine's claim.
    case claimGivenUp
    /// Another vault with the same volume ID, such as a copy of this one, is mounted; `socket` is its daemon's.
    case alreadyServed(socket: Path)
    /// The vault's files use something that this program does not support; `reason` says what.
    case unsupported(reason: String)
    /// The folder cannot be mounted on; `reason` says why.
    case mountPoint(reason: Printable)
    /// While the vault was being mounted, a program wrote into the folder that the mount was to cover.
    case writtenBeneath(mountPoint: Path)
    /// The mount was made, but the daemon did not start because of the inner failure and could not unmount it again.
    indirect case mountLeftBehind(Failure, at: Path)
    /// The administrator's policy forbids it; `reason` says how, with file and line.
    case forbidden(reason: String)
    /// The root of the vault has a class that only a passcode opens.
    case rootLocked
    /// The root folder has another class than the mount was to give it, and the vault is only read.
    case rootClassDiffers(present: String, wanted: String)
    /// The daemon ended without saying why.
    case endedBeforeReady
    /// The mount is in use.
    case busy
    /// The descriptor is not of a file in this mount.
    case notInMount
    /// The class of the file, or the class that it should get, is locked.
    case classLocked
    /// The keys are gone, or go now: nothing can hold them.
    case mountLocked
    /// The vault is mounted read-only.
    case readOnly
    /// The passcode or key was not passed completely in time.
    case secretNotInTime
    /// A lock was requested during the unlock.
    case lockedMeanwhile
    /// A rotation began during the unlock.
    case newKeysMeanwhile
    /// Some files have previous keys: another rotation cannot begin.
    case rotationUnderWay

    // Folders and files

    /// There is no vault at this path: nothing exists there.
    case noSuchVault(path: Path)
    /// The path exists, but has no keybag.
    case noKeybag(path: Path)
    /// The folder has files of a vault and no keybag. `erased`: in seconds since 1970, if the vault says that it was
    /// erased.
    case lostKeybag(path: Path, erased: UInt64?)
    /// A new vault's folder lies in a mount.
    case liesInMount(path: Path, mountPoint: Path)
    case notAFolder(path: Path)
    /// A new vault's folder is not empty.
    case notEmpty(path: Path)
    /// The root of the file system, which has no parent folder.
    case rootFolder(path: Path)
    /// The path is not in a Latchkey mount.
    case notInAMount(path: Path)
    case neitherFileNorFolder(path: Path)
    /// The file keeps its class: the caller does not own it, or the mount's policy forbids the new class.
    case classRefused(isOwner: Bool)
    /// The file keeps its key: it has several hard links, and a copy with a new key would separate them.
    case severalLinks
    /// The file keeps its key: a program has changed it while it was copied.
    case changedDuringCopy
    /// The caller stopped the operation before its end.
    case interrupted
    /// A new key does not overwrite a file that may hold another one.
    case secretFileExists(path: Path)
    /// A new device key does not overwrite a file that may hold another one.
    case deviceKeyExists(path: Path)
    /// The key's file would lie in the vault that the key opens.
    case secretInVault(path: Path)
    /// The vault lies on a file system that does not distinguish upper and lower case.
    case caseInsensitive
    /// The vault lies on a file system with too short a limit for names.
    case namesTooShort(bytes: Int, least: Int)
    /// A vault would lose data in the store where it lies, of the kind `store`, or cannot live there at all, which is
    /// final; `reason` says why.
    case riskyStore(store: String, reason: String, isFinal: Bool)
    /// A slot's name has at most 255 bytes.
    case labelTooLong

    // The system

    /// An operation on a file, `doing`, has failed.
    case file(Errno, doing: Printable, path: Path)
    case io(Errno, doing: Printable)
    /// A thread cannot be made.
    case noThread(Errno)
    case cryptography(reason: String)
    /// Any other failure; `reason` describes it.
    case failed(reason: String)

    // The control socket: org.varlink.service

    case permissionDenied
    case interfaceNotFound(interface: String)
    case methodNotFound(method: String)
    case methodNotImplemented(method: String)
    case invalidParameter(parameter: String)
    case expectedMore

    // The control socket: transport

    case socket(Errno, doing: Printable)
    case timedOut
    /// The peer closed the connection before it answered.
    case disconnected
    /// The daemon has the most connections that it allows.
    case tooManyConnections
    /// The daemon has the most monitoring clients that it allows.
    case tooManyMonitors
    /// As many programs hold the lock as the daemon allows, or ask for it so often.
    case tooManyHolds
    /// The peer violated the protocol.
    case malformed(String)
    /// An error name that this version does not know.
    case unknown(name: String)
    /// The socket directory belongs to another user, or is open to others.
    case unsafeDirectory(path: String)
}

extension Failure {
    /// The failure for a credential that opens no slot.
    public static func wrong(_ kind: SecretKind, _ guesses: Guesses? = nil) -> Failure {
        switch kind {
        case .passcode: .wrongPasscode(guesses: guesses)
        case .recoveryKey: .wrongRecoveryKey
        case .keyFile, .escrowKey, .securityKey, .noPasscode: .wrongKey(kind: kind)
        }
    }

    /// The kind of the credential that opens no slot; nil for other failures.
    public var wrongKind: SecretKind? {
        switch self {
        case .wrongPasscode: .passcode
        case .wrongRecoveryKey: .recoveryKey
        case .wrongKey(let kind): kind
        default: nil
        }
    }
}
