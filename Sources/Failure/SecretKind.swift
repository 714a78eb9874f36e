/// The kinds of credentials that open a vault, and what the secret of each is.
public enum SecretKind: String, Codable, Hashable, Sendable, CaseIterable {
    /// 1 to 1024 bytes, as typed. Needs the device key.
    case passcode
    case recoveryKey = "recovery-key"
    /// The text of a key file. Needs the device key.
    case keyFile = "key-file"
    /// The private key of an organisation.
    case escrowKey = "escrow-key"
    /// The secret that a FIDO2 security key has derived. Needs the device key.
    case securityKey = "fido2"
    /// None: the vault has no passcode, and the device key alone opens it. The secret is ignored.
    case noPasscode = "no-passcode"

    /// Whether it opens the vault on any machine, without the device key.
    public var isPortable: Bool { self == .recoveryKey || self == .escrowKey }
}
