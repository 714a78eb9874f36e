public import Crypto
public import Failure
public import Format

/// What a slot stores so that the security key derives its secret again. None of it is secret.
public struct SecurityKeyEntry: Hashable, Sendable {
    public let demands: SecurityKeySlot.Demands
    /// The credential ID that the key recognises: 1 to 1024 bytes.
    public let identifier: [UInt8]
    /// 32 bytes.
    public let salt: [UInt8]

    /// Nil for sizes or demands that the format does not allow.
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
    /// A slot for a security key, wrapped with the secret that the key derived.
    ///
    /// - Parameter secret: 32 bytes in hexadecimal digits, as `SecurityKeySecret.encode` returns them.
    public init(securityKey entry: SecurityKeyEntry, secret: borrowing Secret) throws(Failure) {
        self.init(try Credential(.securityKey, reading: secret), securityKey: entry)
    }
}

/// A security key's secret as commands and daemon exchange it.
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
        // Decoding has checked the sizes.
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

    /// Nil if the secret is the wrong one.
    func open(_ secret: borrowing Secret, _ device: borrowing DeviceKey) throws(Failure) -> Bundle? {
        try Bundle.unwrap(wrappedBundle, under: crypto(try device.securityKeyKey(secret, salt: salt)))
    }
}

extension DeviceKey {
    /// Combines a security key's secret with this key.
    fileprivate func securityKeyKey(_ derived: borrowing Secret, salt: [UInt8]) throws(CryptoError) -> Secret {
        let info = Label.securityKey + salt + volume.bytes
        return try KeyDerivation.hkdf(derived, salt: secret, info: unsafe info.span.bytes, count: 32)
    }
}

extension KeybagFile {
    /// The security keys' slots, by number.
    public var securityKeys: [(slot: UInt32, entry: SecurityKeyEntry)] {
        slots.compactMap { slot in
            if case .securityKey(let slot) = slot { (slot.head.identifier, slot.entry) } else { nil }
        }
    }
}
