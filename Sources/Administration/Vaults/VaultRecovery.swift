public import Crypto
public import DeviceKeys
public import Failure
public import Format
public import Keybag
import Store

/// Opens a vault without its device key, or without its passcode: by the recovery key or an escrow key, which brings in
/// new ones.
///
/// The credential is checked before anything is made.
public struct VaultRecovery: ~Copyable, Sendable {
    private let folder: VaultFolder
    private let credential: Credential
    /// The vault's proof, made of the keys that the credential has opened.
    public let proof: VaultProof
    public let keybag: KeybagFile

    public init(of vault: AbsolutePath, _ kind: SecretKind, _ secret: borrowing Secret) throws(Failure) {
        let folder = try VaultFolder(vault)
        let credential = try Credential(kind, reading: secret)
        let proof = try OpenKeybag.check(credential, in: folder.store)
        let keybag = try OpenKeybag.inspect(folder.store)
        // A value that is not copied is made whole or not at all.
        self.folder = folder
        self.credential = credential
        self.proof = proof
        self.keybag = keybag
    }

    /// The device key that the vault is to have: the one that is there, where it can be used.
    ///
    /// - Parameters:
    ///   - wanted: what is to keep it; nil for what keeps the one that is there.
    ///   - path: nil for the default place.
    public borrowing func deviceKey(_ wanted: DeviceKeyKind?, at path: String?) throws(Failure) -> RecoveredDeviceKey {
        try RecoveredDeviceKey(
            wanted, path: path ?? DeviceKeyFile.defaultPath(for: keybag.volume), volume: keybag.volume)
    }

    /// Makes the device key where there is none that can be used, and sets the new passcode, which takes this machine
    /// about half a second.
    ///
    /// - Returns: where a device key lies now that was of no use, if there was one.
    public borrowing func run(
        _ deviceKey: RecoveredDeviceKey, passcode: borrowing Secret, allowingWeak: Bool = false
    ) throws(Failure) -> String? {
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
