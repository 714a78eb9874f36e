public import Crypto
import Strength

/// What somebody opens a vault with: a kind, and its secret bytes.
public struct Credential: ~Copyable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// 1 to 1024 bytes, as typed. Needs the device key.
        case passcode
        case recoveryKey = "recovery-key"
        /// What a key file holds. Needs the device key.
        case keyFile = "key-file"
        /// The private key of an organisation.
        case escrowKey = "escrow-key"
        /// What a FIDO2 security key has derived. Needs the device key.
        case securityKey = "fido2"
        /// Nothing but the device key: the vault has no passcode.
        case noPasscode = "no-passcode"

        /// Whether it opens the vault on a machine that has never seen it.
        public var isPortable: Bool { self == .recoveryKey || self == .escrowKey }
    }

    public let kind: Kind
    /// Whether it is tried also where it is the last guess: a wrong passcode erases the vault's keys then.
    public let mayBeLast: Bool
    /// A passcode's bytes, else a key of 32.
    let secret: Secret

    private init(_ kind: Kind, _ secret: consuming Secret, mayBeLast: Bool = false) {
        self.kind = kind
        self.mayBeLast = mayBeLast
        self.secret = secret
    }

    /// - Parameter text: what was typed or is in a file: a passcode, a recovery key, a key file's line, or in 64 hexadecimal
    ///   digits an X25519 private key or what a security key has derived.
    /// - Throws: `passcodeLength`, `malformedRecoveryKey`, `notAKeyFile`, `wrong` of one in digits.
    public init(_ kind: Kind, reading text: borrowing Secret, mayBeLast: Bool = false) throws(KeybagError) {
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

    /// Nothing, for a vault without a passcode.
    public static func nothing() throws(KeybagError) -> Credential {
        Credential(.noPasscode, try crypto(try Secret(count: 1)))
    }

    /// The one rule for passcodes, wherever one is set.
    ///
    /// - Throws: `weakPasscode` for one that must not be set without a word.
    func requireStrength(allowingWeak: Bool) throws(KeybagError) {
        guard kind == .passcode, !allowingWeak else { return }
        if try crypto(try Strength(of: secret)).isWeak { throw .weakPasscode }
    }

    /// - Parameter key: 32 bytes.
    public init(recoveryKey key: borrowing Secret) throws(KeybagError) {
        precondition(key.count == RecoveryKeyText.keyByteCount)
        self.init(.recoveryKey, try crypto(try key.copy()))
    }
}

/// The bytes of a passcode, as typed: 1 to 1024.
let passcodeRange = 1...1024

func requirePasscode(_ passcode: borrowing Secret) throws(KeybagError) {
    guard passcodeRange.contains(passcode.count) else { throw .passcodeLength(passcode.count) }
}
