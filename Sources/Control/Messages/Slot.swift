public import Failure
public import Posix

/// A slot of the vault.
public struct Slot: Codable, Hashable, Sendable {
    /// Its number.
    public var id: Int
    /// The name of a `SecretKind`, or "unknown".
    public var kind: String
    /// Seconds since 1970.
    public var created: Int
    /// The name given to it; may be empty.
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

/// The source of a new slot.
public enum NewSlotSource: Sendable {
    /// A secret of a kind, read to its end. A passcode is weak if it may be found within a million guesses.
    case secret(SecretKind, Descriptor, allowingWeak: Bool = false)
    /// A public key in 64 hexadecimal digits; the slot is for the holder of the private key.
    case escrow(publicKey: String)
    /// A security key's derived secret, read to its end, and what the key needs to derive it again.
    case securityKey(NewSecurityKey, Descriptor)
}

/// What a security key needs to derive a secret again.
public struct NewSecurityKey: Codable, Hashable, Sendable {
    /// The credential ID that the key recognises: 2 to 2048 hexadecimal digits.
    public var credential: String
    /// 64 hexadecimal digits.
    public var salt: String
    /// Whether the key needs its PIN.
    public var withPIN: Bool
    /// Whether the key needs a touch.
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
