/// What opens a vault, as it is handed over.
public enum SecretKind: String, Codable, Hashable, Sendable, CaseIterable {
    /// 1 to 1024 bytes, as typed. Needs the device key.
    case passcode
    case recoveryKey = "recovery-key"
    /// What a key file holds. Needs the device key.
    case keyFile = "key-file"
    /// The private key of an organisation.
    case escrowKey = "escrow-key"
    /// What a FIDO2 security key has derived. Needs the device key.
    case securityKey = "fido2"
    /// Nothing: the vault has no passcode, and the device key alone opens it. The secret is not looked at.
    case noPasscode = "no-passcode"

    /// Whether it opens the vault on a machine that has never seen it.
    public var isPortable: Bool { self == .recoveryKey || self == .escrowKey }
}
