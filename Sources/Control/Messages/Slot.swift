public import Failure
public import Posix

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
    /// A secret of a kind, to be read to its end. Weak is a passcode that may be found within a million guesses.
    case secret(SecretKind, Descriptor, allowingWeak: Bool = false)
    /// For the holder of the private key: 64 hexadecimal digits.
    case escrow(publicKey: String)
    /// What a security key has derived, to be read to its end, and what it needs to derive it again.
    case securityKey(NewSecurityKey, Descriptor)
}

/// What a security key needs to derive a secret again.
public struct NewSecurityKey: Codable, Hashable, Sendable {
    /// What it knows the credential by: 2 to 2048 hexadecimal digits.
    public var credential: String
    /// 64 hexadecimal digits.
    public var salt: String
    /// Whether it has to be told its PIN.
    public var withPIN: Bool
    /// Whether it has to be touched.
    public var withTouch: Bool

    public init(credential: String, salt: String, withPIN: Bool, withTouch: Bool) {
        self.credential = credential
        self.salt = salt
        self.withPIN = withPIN
        self.withTouch = withTouch
    }

    enum CodingKeys: String, CodingKey {
        case credential, salt, withTouch
        case withPIN = "withPin"
    }
}
