public import Crypto
public import Format

/// The key of one vault that stays on this machine: 256 random bits, never in the vault.
public struct DeviceKey: ~Copyable, Sendable {
    public let volume: VolumeIdentifier
    let secret: Secret
    /// Counts wrong passcodes; nil where nobody counts.
    let guesses: GuessCounter?

    /// A fresh one.
    public init(generatedFor volume: VolumeIdentifier) throws(CryptoError) {
        self.init(volume: volume, secret: try Secret(random: 32))
    }

    /// - Parameter secret: 32 bytes.
    init(volume: VolumeIdentifier, secret: consuming Secret, guesses: GuessCounter? = nil) {
        precondition(secret.count == 32)
        self.volume = volume
        self.secret = secret
        self.guesses = guesses
    }

    /// Under which the keybag is authenticated at mount.
    func keybagAuthenticator() throws(CryptoError) -> MessageAuthenticator {
        try MessageAuthenticator(key: .derived(from: secret, salt: volume.bytes, info: Label.keybag))
    }

    /// Under which the device slot is wrapped.
    func slotKey() throws(CryptoError) -> Secret {
        try .derived(from: secret, salt: volume.bytes, info: Label.deviceSlot)
    }

    /// The passcode and this key made into one: Argon2id with a salt that only this machine can compute.
    func passcodeKey(
        _ passcode: borrowing Secret, salt: [UInt8], cost: Argon2Cost
    ) throws(CryptoError) -> Secret {
        let keyedSalt = try MessageAuthenticator(key: secret.copy()).secretTag(of: Label.argon2Salt, salt)
        let argon = try Argon2id.derive(passcode, salt: keyedSalt, cost: cost, count: 32)
        return try KeyDerivation.hkdf(argon, salt: secret, info: volume.bytes, count: 32)
    }

    /// Under which the bundle of a vault without a passcode is wrapped.
    func openSlotKey(salt: [UInt8]) throws(CryptoError) -> Secret {
        try .derived(from: secret, salt: volume.bytes, info: Label.noPasscode + salt)
    }

    /// A key file's key and this key made into one.
    func keyFileKey(_ key: borrowing Secret, salt: [UInt8]) throws(CryptoError) -> Secret {
        let info = Label.keyFile + salt + volume.bytes
        return try KeyDerivation.hkdf(key, salt: secret, info: unsafe info.span.bytes, count: 32)
    }
}
