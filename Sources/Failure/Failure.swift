public import Posix

/// Why something that has to do with a vault was not done: one failure for the keybag, the daemon, the control socket
/// and the command line, which alone has words for it.
///
/// The names of a case and of what it holds are a stable code: by them a failure crosses the readiness pipe and the
/// control socket. A failure that `io.latchkey.varlink` has an error for is that error: `noSuchSlot(slot:)` is
/// `NoSuchSlot(slot)`. No text in one holds anything secret.
public enum Failure: Error, Hashable, Codable, Sendable {
    // What opens a vault

    /// The passcode opens no slot. How many wrong ones there may still be, where there is a limit.
    case wrongPasscode(guesses: Guesses? = nil)
    /// The recovery key opens no slot.
    case wrongRecoveryKey
    /// A key of another kind opens no slot.
    case wrongKey(kind: SecretKind)
    /// The text is no recovery key: mistyped, or incomplete.
    case malformedRecoveryKey
    /// What was given is not what a key file holds.
    case notAKeyFile
    /// What was given is no public key of X25519.
    case notAPublicKey
    /// A passcode has 1 to 1024 bytes; this one has so many.
    case passcodeLength(bytes: Int)
    /// A new passcode that somebody who has the disk, and knows how people choose, finds within a million guesses.
    case weakPasscode
    /// An Argon2 cost out of the format's bounds.
    case cost(memoryKiB: Int, passes: Int)

    // Limits of wrong passcodes

    /// So many seconds have to pass before the next passcode is tried.
    case tooManyGuesses(seconds: Int)
    /// No passcode is tried any more: one more wrong one would erase the vault, and the last try was cut off. The other
    /// ways in open it, and end this.
    case noMoreGuesses
    /// One more wrong passcode would erase the vault's keys, and it was not said that it may: nothing was tried, and
    /// nothing counted. The limit is of so many in a row.
    case lastGuess(limit: Int)
    /// The keys are destroyed. `reason` says what could not be; `limit` is there if this wrong passcode was the last of
    /// so many.
    case erased(limit: Int? = nil, reason: String?)

    // Slots

    /// There is no slot with this number.
    case noSuchSlot(slot: Int)
    /// Without this slot nothing would open the vault.
    case lastSlot
    /// The passcodes have a part in a TPM, which this device key, kept as a file, does not lead to.
    case passcodesNeedTPM
    /// A chip would count each try of one passcode as a wrong one of the others.
    case onePasscodeOnly
    /// The device key alone opens the vault: a passcode beside that would protect nothing.
    case hasNoPasscode

    // The keybag

    /// There is no `lk.keybag`.
    case notAVault
    /// There is one where a new one was to be made.
    case alreadyAVault
    /// Made by a program that knows a later format version.
    case foreignVersion(version: Int)
    /// Uses a feature that this program does not know; it cannot be read, or not be written.
    case foreignFeature
    /// Not what docs/FORMAT.md says; the text says what is not.
    case damaged(reason: String)
    /// Whole, but not as a key's holder left it; the text says what does not fit, and which files to distrust.
    case tampered(reason: String)
    /// Another process has changed the keybag since it was looked at: nothing of this change is done.
    case changedMeanwhile
    /// The vault is not the one that a proof is of.
    case otherProof

    // A keybag's backup

    /// What was given is no keybag's backup.
    case notABackup
    /// A backup of a keybag that is not whole, or that somebody without its passphrase has changed.
    case damagedBackup
    /// It does not open the backup.
    case wrongPassphrase
    /// The backup's keys do not open the root of the vault: it is another vault's, or the root is damaged.
    case otherRoot
    /// The keybag that is there has other keys than the backup: it is another vault's, or from before its keys were
    /// changed.
    case otherKeys

    // The device key

    case deviceKeyMissing(path: String)
    /// What lies at the path is not a device key file, or not a whole one.
    case notADeviceKey(path: String)
    /// The device key is another vault's, or the keybag was changed where the two meet.
    case deviceKeyMismatch
    /// The TPM does not release the device key: the machine was started otherwise than when it was sealed.
    case otherPCRs
    /// The device key was sealed by another machine's TPM, or by this one before it was cleared.
    case otherTPM
    /// Something else that the TPM says; the text says what.
    case hardware(reason: String)

    // A vault that is mounted, or is to be

    /// Another process has the vault open.
    case vaultInUse
    /// Another vault with the same volume ID, such as a copy of this one, is mounted; its daemon has this socket.
    case alreadyServed(socket: String)
    /// The file system in the vault needs something that this program does not know; the text says what.
    case unsupported(reason: String)
    /// The folder cannot be mounted on; the text says why.
    case mountPoint(reason: String)
    /// The mount was made, did not come to serve because of this, and could not be unmounted again.
    indirect case mountLeftBehind(Failure, at: String)
    /// The administrator's policy forbids it; the text says how, with its file and line.
    case forbidden(reason: String)
    /// The root of the vault is of a class that only a passcode opens.
    case rootLocked
    /// The daemon ended, and has not said why.
    case endedBeforeReady
    /// The mount is in use.
    case busy
    /// The descriptor is of no file in this mount.
    case notInMount
    /// The class of the file is locked, or the one that it is to have.
    case classLocked
    /// The vault is mounted read-only.
    case readOnly
    /// A passcode or key was not handed over whole within its time.
    case secretNotInTime
    /// An unlock was overtaken by a lock.
    case lockedMeanwhile
    /// An unlock was overtaken by a rotation.
    case newKeysMeanwhile
    /// Files have old keys still: no other rotation is begun.
    case rotationUnderWay

    // Folders and files

    /// There is nothing where a vault was named.
    case noSuchVault(path: String)
    /// There is, but no keybag in it.
    case noKeybag(path: String)
    /// A new vault's folder lies in a mount.
    case liesInMount(path: String, mountPoint: String)
    case notAFolder(path: String)
    /// A new vault's folder holds something.
    case notEmpty(path: String)
    /// The root of the file system, which lies in no folder.
    case rootFolder(path: String)
    /// No Latchkey mount holds it.
    case notInAMount(path: String)
    case neitherFileNorFolder(path: String)
    /// A file keeps its class: the caller does not own it, or else the mount's policy forbids the new one.
    case classRefused(isOwner: Bool)
    /// A file keeps its key: a copy, which a new one takes, would part its hard links.
    case severalLinks
    /// A file keeps its key: a program has changed it while it was copied.
    case changedDuringCopy
    /// What was under way was told to end.
    case interrupted
    /// A new key is not written over what may be another one.
    case secretFileExists(path: String)
    /// A new device key is not made over what may be another one.
    case deviceKeyExists(path: String)
    /// A key would lie in the vault that it opens.
    case secretInVault(path: String)
    /// The vault lies on a file system that takes a and A for the same.
    case caseInsensitive
    /// The vault lies on a file system whose names have too few bytes.
    case namesTooShort(bytes: Int, least: Int)
    /// A slot's name has at most 255 bytes.
    case labelTooLong

    // The system

    /// What was tried with a file, as in "open", has failed.
    case file(Errno, doing: String, path: String)
    case io(Errno, doing: String)
    /// A thread cannot be made.
    case noThread(Errno)
    case cryptography(reason: String)
    /// Anything else; the text says what.
    case failed(reason: String)

    // The control socket: org.varlink.service

    case permissionDenied
    case interfaceNotFound(interface: String)
    case methodNotFound(method: String)
    case methodNotImplemented(method: String)
    case invalidParameter(parameter: String)
    case expectedMore

    // The control socket: on the way

    case socket(Errno, doing: String)
    case timedOut
    /// The other side closed the connection before it answered.
    case disconnected
    /// The daemon has as many connections as it takes.
    case tooManyConnections
    /// As many clients as may wait for changes do.
    case tooManyMonitors
    /// The other side broke the protocol.
    case malformed(String)
    /// An error that this version does not know.
    case unknown(name: String)
    /// The socket directory belongs to someone else or is open to others.
    case unsafeDirectory(path: String)
}

extension Failure {
    /// What was given opens no slot.
    public static func wrong(_ kind: SecretKind, _ guesses: Guesses? = nil) -> Failure {
        switch kind {
        case .passcode: .wrongPasscode(guesses: guesses)
        case .recoveryKey: .wrongRecoveryKey
        case .keyFile, .escrowKey, .securityKey, .noPasscode: .wrongKey(kind: kind)
        }
    }

    /// Of what opens no slot; nil for other failures.
    public var wrongKind: SecretKind? {
        switch self {
        case .wrongPasscode: .passcode
        case .wrongRecoveryKey: .recoveryKey
        case .wrongKey(let kind): kind
        default: nil
        }
    }
}
