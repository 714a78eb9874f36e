public import Crypto
public import Failure
public import Format

/// What a slot keeps of a security key, so that it derives its secret again. Nothing of it is secret.
public struct SecurityKeyEntry: Hashable, Sendable {
    public let demands: SecurityKeySlot.Demands
    /// What the key knows the credential by: 1 to 1024 bytes.
    public let identifier: [UInt8]
    /// 32 bytes.
    public let salt: [UInt8]

    /// Nil for sizes or demands that no slot takes.
    public init?(demands: SecurityKeySlot.Demands, identifier: [UInt8], salt: [UInt8]) {
        guard SecurityKeySlot.identifierRange ~= identifier.count, salt.count == SecurityKeySlot.saltByteCount,
            demands.isSubset(of: [.verification, .presence])
        else { return nil }
        self.demands = demands
        self.identifier = identifier
        self.salt = salt
    }
}

extension NewSlot {
    /// For a security key, by the secret that it has derived.
    ///
    /// - Parameter secret: 32 bytes in hexadecimal digits, as of `SecurityKeySecret`.
    public init(securityKey entry: SecurityKeyEntry, secret: borrowing Secret) throws(Failure) {
        self.init(try Credential(.securityKey, reading: secret), securityKey: entry)
    }
}

/// What a security key has derived, as it is handed over.
public enum SecurityKeySecret {
    /// - Parameter secret: 32 bytes.
    public static func encode(_ secret: borrowing Secret) throws(CryptoError) -> Secret {
        try EscrowKey.encode(secret)
    }

    static func decode(_ text: borrowing Secret) throws(Failure) -> Secret {
        do throws(Failure) { return try EscrowKey.decode(text) } catch .wrongKey { throw .wrong(.securityKey) }
    }
}

extension SecurityKeySlot {
    public var entry: SecurityKeyEntry {
        // What was decoded has the right sizes.
        SecurityKeyEntry(demands: demands, identifier: identifier, salt: salt)!
    }

    /// The slot for a security key's secret of 32 bytes.
    static func wrap(
        _ bundle: borrowing Bundle, _ entry: SecurityKeyEntry, _ secret: borrowing Secret,
        _ device: borrowing DeviceKey, _ head: SlotHead, _ label: SlotLabel
    ) throws(Failure) -> SecurityKeySlot {
        let key = try crypto(try device.securityKeyKey(secret, salt: entry.salt))
        return SecurityKeySlot(
            head, demands: entry.demands, identifier: entry.identifier, salt: entry.salt,
            wrappedBundle: try bundle.wrapped(under: key), label: label)
    }

    /// Nil if it is another secret.
    func open(_ secret: borrowing Secret, _ device: borrowing DeviceKey) throws(Failure) -> Bundle? {
        try Bundle.unwrap(wrappedBundle, under: crypto(try device.securityKeyKey(secret, salt: salt)))
    }
}

extension DeviceKey {
    /// A security key's secret and this key made into one.
    fileprivate func securityKeyKey(_ derived: borrowing Secret, salt: [UInt8]) throws(CryptoError) -> Secret {
        let info = Label.securityKey + salt + volume.bytes
        return try KeyDerivation.hkdf(derived, salt: secret, info: unsafe info.span.bytes, count: 32)
    }
}

extension KeybagFile {
    /// What its slots for security keys say, by their numbers.
    public var securityKeys: [(slot: UInt32, entry: SecurityKeyEntry)] {
        slots.compactMap { slot in
            if case .securityKey(let slot) = slot { (slot.head.identifier, slot.entry) } else { nil }
        }
    }
}
