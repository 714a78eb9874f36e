public import Crypto
public import Failure
public import Format
public import Posix

/// A device key: the secret of one vault that stays on this machine, 256 random bits, never stored in the vault.
public struct DeviceKey: ~Copyable, Sendable {
    public let volume: VolumeIdentifier
    let secret: Secret
    /// Counts wrong passcodes; nil if they are not counted.
    let guesses: GuessCounter?
    /// What this machine remembers of the keybag; nil if nothing is remembered.
    let memory: KeybagMemory?
    /// Holds a part of each passcode key; nil if the device key is stored in a file.
    let hardware: (any PasscodeGuard)?
    /// Knows the lowest generation that the keybag may have; nil if no chip counts generations for this key.
    public let counter: (any GenerationCounter)?

    /// Generates a new device key.
    public init(generatedFor volume: VolumeIdentifier) throws(CryptoError) {
        self.init(volume: volume, secret: try Secret(random: 32))
    }

    /// - Parameter secret: 32 bytes.
    init(
        volume: VolumeIdentifier, secret: consuming Secret, guesses: GuessCounter? = nil,
        memory: KeybagMemory? = nil, hardware: (any PasscodeGuard)? = nil,
        counter: (any GenerationCounter)? = nil
    ) {
        precondition(secret.count == 32)
        self.volume = volume
        self.secret = secret
        self.guesses = guesses
        self.memory = memory
        self.hardware = hardware
        self.counter = counter
    }

    /// A device key that a chip has released.
    ///
    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - path: the file that holds the sealed key; wrong passcodes are counted in a file beside it.
    ///   - hardware: the chip that released it.
    public init(
        volume: VolumeIdentifier, released secret: consuming Secret, from path: Path, hardware: any PasscodeGuard,
        counter: (any GenerationCounter)? = nil
    ) {
        self.init(
            volume: volume, secret: secret, guesses: GuessCounter(besideDeviceKey: path, volume: volume),
            memory: KeybagMemory(besideDeviceKey: path), hardware: hardware, counter: counter)
    }

    /// The same key with another chip, or without one.
    public func copy(
        besides path: Path, hardware: (any PasscodeGuard)?, counter: (any GenerationCounter)? = nil
    ) throws(Failure) -> DeviceKey {
        DeviceKey(
            volume: volume, secret: try crypto(try secret.copy()),
            guesses: GuessCounter(besideDeviceKey: path, volume: volume),
            memory: KeybagMemory(besideDeviceKey: path), hardware: hardware, counter: counter)
    }

    /// Whether a chip holds a part of each passcode key.
    public var isGuarded: Bool { hardware != nil }

    /// Lends the 32 bytes of the key, so that the caller can seal them.
    public func withSecret<R: ~Copyable, E: Error>(_ body: (borrowing Secret) throws(E) -> R) throws(E) -> R {
        try body(secret)
    }

    /// The key that authenticates the keybag at mount.
    func keybagAuthenticator() throws(CryptoError) -> MessageAuthenticator {
        try MessageAuthenticator(key: .derived(from: secret, salt: volume.bytes, info: Label.keybag))
    }

    /// The key that wraps the device slot.
    func slotKey() throws(CryptoError) -> Secret {
        try .derived(from: secret, salt: volume.bytes, info: Label.deviceSlot)
    }

    /// Combines the passcode and this key: Argon2id with a salt that only this machine can compute.
    func passcodeKey(
        _ passcode: borrowing Secret, salt: [UInt8], cost: Argon2Cost
    ) throws(CryptoError) -> Secret {
        let keyedSalt = try MessageAuthenticator(key: secret.copy()).secretTag(of: Label.argon2Salt, salt)
        let argon = try Argon2id.derive(passcode, salt: keyedSalt, cost: cost, count: 32)
        return try KeyDerivation.hkdf(argon, salt: secret, info: volume.bytes, count: 32)
    }

    /// What the chip requires before it releases its part of a passcode key.
    func authorization(_ passcodeKey: borrowing Secret) throws(CryptoError) -> Secret {
        try .derived(from: passcodeKey, salt: volume.bytes, info: Label.chipAuthorization)
    }

    /// What the chip requires before it reads, increments or removes the counter of generations.
    ///
    /// - Parameter secret: the device key, 32 bytes.
    public static func counterAuthorization(
        of secret: borrowing Secret, volume: VolumeIdentifier
    ) throws(CryptoError) -> Secret {
        try .derived(from: secret, salt: volume.bytes, info: Label.chipCounter)
    }

    /// Combines a passcode key with the chip's part of it.
    func guardedKey(_ passcodeKey: borrowing Secret, _ part: borrowing Secret) throws(CryptoError) -> Secret {
        try KeyDerivation.hkdf(passcodeKey, salt: part, info: Label.chip + volume.bytes, count: 32)
    }

    /// The key that wraps the bundle of a vault without a passcode.
    func openSlotKey(salt: [UInt8]) throws(CryptoError) -> Secret {
        try .derived(from: secret, salt: volume.bytes, info: Label.noPasscode + salt)
    }

    /// Combines the key of a key file with this key.
    func keyFileKey(_ key: borrowing Secret, salt: [UInt8]) throws(CryptoError) -> Secret {
        let info = Label.keyFile + salt + volume.bytes
        return try KeyDerivation.hkdf(key, salt: secret, info: unsafe info.span.bytes, count: 32)
    }
}
