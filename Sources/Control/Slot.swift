public import Posix

/// What opens a vault, as it is handed over.
public enum SecretKind: String, Codable, Hashable, Sendable, CaseIterable {
    case passcode
    case recoveryKey = "recovery-key"
    case keyFile = "key-file"
    case escrowKey = "escrow-key"
    /// Nothing: the vault has no passcode, and the device key alone opens it. The secret is not looked at.
    case noPasscode = "no-passcode"
}

/// A way into the vault.
public struct Slot: Codable, Hashable, Sendable {
    /// Its number.
    public var id: Int
    /// A `SecretKind`'s name, or "unknown".
    public var kind: String
    /// Seconds since 1970.
    public var created: Int
    /// What it was called; may be empty.
    public var name: String
    /// Whether it opens the vault without this machine's device key.
    public var isPortable: Bool

    public init(id: Int, kind: String, created: Int, name: String, isPortable: Bool) {
        self.id = id
        self.kind = kind
        self.created = created
        self.name = name
        self.isPortable = isPortable
    }
}

/// What a slot is to be made of.
public enum NewSlotSource: Sendable {
    /// A secret of a kind, to be read to its end. Weak is a passcode that may have four digits.
    case secret(SecretKind, Descriptor, allowingWeak: Bool = false)
    /// For the holder of the private key: 64 hexadecimal digits.
    case escrow(publicKey: String)
}
