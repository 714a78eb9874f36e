public import Control
public import Crypto
public import Failure

/// What a new slot is made of.
public struct NewSecret: ~Copyable, Sendable {
    public let kind: SecretKind
    /// Nil for an escrow key.
    public let secret: Secret?
    /// An escrow key's public key, in 64 hexadecimal digits.
    public let publicKey: String
    /// A security key's parameters; nil for other kinds.
    public let securityKey: NewSecurityKey?
    /// Whether a passcode may be weak.
    public let allowsWeak: Bool

    public init(_ kind: SecretKind, _ secret: consuming Secret, allowingWeak: Bool = false) {
        self.kind = kind
        self.secret = consume secret
        publicKey = ""
        securityKey = nil
        allowsWeak = allowingWeak
    }

    public init(_ key: NewSecurityKey, _ secret: consuming Secret) {
        kind = .securityKey
        self.secret = consume secret
        publicKey = ""
        securityKey = key
        allowsWeak = false
    }

    public init(escrow publicKey: String) {
        kind = .escrowKey
        secret = nil
        self.publicKey = publicKey
        securityKey = nil
        allowsWeak = false
    }
}
