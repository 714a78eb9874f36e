public import Format

/// What the administrator of a machine demands of its vaults: docs/POLICY.md.
///
/// A rule that is nil demands nothing.
public struct Policy: Hashable, Sendable {
    public static let standardPath = "/etc/latchkey/policy.toml"

    /// The file that it stands in, for messages.
    public let path: String

    /// The least score of a passcode that is set: 0 to 4, as zxcvbn has it.
    public internal(set) var minimumPasscodeStrength: Rule<Int>?
    /// The class of a new vault's root where nobody names one, and the weakest that a vault's root may have.
    public internal(set) var defaultClass: Rule<ProtectionClass>?
    /// The weakest class that may be set, on whatever.
    public internal(set) var minimumClass: Rule<ProtectionClass>?
    /// Seconds between a lock and the end of the keys, at most.
    public internal(set) var longestGrace: Rule<Int>?
    /// Seconds without use after which a mount locks, at most.
    public internal(set) var lockWhenIdleAfter: Rule<Int>?
    /// Wrong passcodes after which a vault is erased, at most.
    public internal(set) var eraseAfter: Rule<Int>?
    public internal(set) var requiredEscrowKey: Rule<RequiredEscrowKey>?
    public internal(set) var allowedDeviceKeys: Rule<Set<DeviceKeyKind>>?

    /// One that demands nothing.
    public init(path: String) { self.path = path }

    public var isEmpty: Bool { self == Policy(path: path) }
}
