public import Control
public import Crypto
public import Failure

/// What a new slot is made of, as it is handed over.
public struct NewSecret: ~Copyable, Sendable {
    public let kind: SecretKind
    /// Nil for an escrow key.
    public let secret: Secret?
    /// Of an escrow key, in 64 hexadecimal digits.
    public let publicKey: String
    /// Of a security key, and of nothing else.
    public let securityKey: NewSecurityKey?
    /// Of a passcode: it may be weak.
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
