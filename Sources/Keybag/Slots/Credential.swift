public import Crypto
public import Failure
import Strength

/// What opens a vault: a kind, and its secret bytes.
public struct Credential: ~Copyable, Sendable {
    public typealias Kind = SecretKind

    public let kind: Kind
    /// Whether it is tried also if it is the last guess, after which a wrong passcode erases the vault's keys.
    public let mayBeLast: Bool
    /// A passcode's bytes, or a key of 32 bytes.
    let secret: Secret

    private init(_ kind: Kind, _ secret: consuming Secret, mayBeLast: Bool = false) {
        self.kind = kind
        self.mayBeLast = mayBeLast
        self.secret = secret
    }

    /// - Parameter text: what was typed or read: a passcode, a recovery key, a key file's line, or 64 hexadecimal
    ///   digits of an X25519 private key or of a security key's secret.
    /// - Throws: `passcodeLength`, `malformedRecoveryKey`, `notAKeyFile`; `wrong` for malformed hexadecimal digits.
    public init(_ kind: Kind, reading text: borrowing Secret, mayBeLast: Bool = false) throws(Failure) {
        switch kind {
        case .passcode:
            try requirePasscode(text)
            self.init(kind, try crypto(try text.copy()), mayBeLast: mayBeLast)
        case .recoveryKey: self.init(kind, try RecoveryKeyText.decode(text))
        case .keyFile: self.init(kind, try KeyFile.decode(text))
        case .escrowKey: self.init(kind, try EscrowKey.decode(text))
        case .securityKey: self.init(kind, try SecurityKeySecret.decode(text))
        case .noPasscode: self = try .nothing()
        }
    }

    /// The credential of a vault without a passcode.
    public static func nothing() throws(Failure) -> Credential {
        Credential(.noPasscode, try crypto(try Secret(count: 1)))
    }

    /// The one rule for passcodes, wherever one is set.
    ///
    /// - Throws: `weakPasscode` for one that may be set only with `allowingWeak`.
    func requireStrength(allowingWeak: Bool) throws(Failure) {
        guard kind == .passcode, !allowingWeak else { return }
        if try crypto(try Strength(of: secret)).isWeak { throw .weakPasscode }
    }

    /// - Parameter key: 32 bytes.
    public init(recoveryKey key: borrowing Secret) throws(Failure) {
        precondition(key.count == RecoveryKeyText.keyByteCount)
        self.init(.recoveryKey, try crypto(try key.copy()))
    }
}

/// The length of a passcode in bytes, as typed.
let passcodeRange = 1...1024

func requirePasscode(_ passcode: borrowing Secret) throws(Failure) {
    guard passcodeRange.contains(passcode.count) else { throw .passcodeLength(bytes: passcode.count) }
}
