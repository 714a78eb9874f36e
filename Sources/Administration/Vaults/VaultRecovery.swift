public import Crypto
public import DeviceKeys
public import Failure
public import Format
public import Keybag
public import Posix
import Store

/// Opens a vault without its device key or passcode, by the recovery key or an escrow key, and sets new ones.
///
/// The credential is checked before anything is made.
public struct VaultRecovery: ~Copyable, Sendable {
    private let folder: VaultFolder
    private let credential: Credential
    /// The vault's proof, derived from the keys that the credential has released.
    public let proof: VaultProof
    public let keybag: KeybagFile

    public init(
        of vault: AbsolutePath, _ kind: SecretKind, _ secret: borrowing Secret, _ claim: ClaimOptions = ClaimOptions()
    ) throws(Failure) {
        let folder = try VaultFolder(vault, claim)
        let credential = try Credential(kind, reading: secret)
        let proof = try OpenKeybag.check(credential, in: folder.store)
        let keybag = try OpenKeybag.inspect(folder.store)
        // Nothing throws from here on: a noncopyable value must be initialized completely or not at all.
        self.folder = folder
        self.credential = credential
        self.proof = proof
        self.keybag = keybag
    }

    /// Plans the vault's device key: the existing one if it can be used.
    ///
    /// - Parameters:
    ///   - wanted: how it is to be kept; nil for the way of the existing one.
    ///   - path: the file; nil for the default path.
    public borrowing func deviceKey(_ wanted: DeviceKeyKind?, at path: Path?) throws(Failure) -> RecoveredDeviceKey {
        try RecoveredDeviceKey(
            wanted, path: path ?? DeviceKeyFile.defaultPath(for: keybag.volume), volume: keybag.volume)
    }

    /// Makes the device key if none can be used, and sets the new passcode, which takes about half a second.
    ///
    /// - Returns: the new path of an existing device key file that cannot be used, if there was one.
    public borrowing func run(
        _ deviceKey: RecoveredDeviceKey, passcode: borrowing Secret, allowingWeak: Bool = false
    ) throws(Failure) -> Path? {
        let made = try deviceKey.make()
        let movedAside = made.movedAside
        _ = try OpenKeybag.recover(
            in: folder.store, by: credential, newDeviceKey: made.takeKey(), newPasscode: passcode,
            cost: Argon2Cost.calibratedForVaults(), allowingWeak: allowingWeak, proof: proof)
        return movedAside
    }
}

extension Argon2Cost {
    fileprivate static func calibratedForVaults() throws(Failure) -> Argon2Cost {
        do { return try calibrated() } catch { throw .crypto(error) }
    }
}
