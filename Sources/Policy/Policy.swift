public import Format
public import LockSources

/// The rules of a machine's administrator for its vaults: docs/POLICY.md.
///
/// A rule that is nil demands nothing.
public struct Policy: Hashable, Sendable {
    public static let standardPath = "/etc/latchkey/policy.toml"

    /// The file of the policy, for messages.
    public let path: String

    /// The lowest score of a new passcode: 0 to 4, as in zxcvbn.
    public internal(set) var minimumPasscodeStrength: Rule<Int>?
    /// The class of a new vault's root if the user names none, and the weakest that a vault's root may have.
    public internal(set) var defaultClass: Rule<ProtectionClass>?
    /// The weakest class that any file or folder may be given.
    public internal(set) var minimumClass: Rule<ProtectionClass>?
    /// The maximum of seconds between a lock and the eviction of the keys.
    public internal(set) var longestGrace: Rule<Int>?
    /// The maximum of seconds that a program may hold a lock after the grace period; 0 forbids it.
    public internal(set) var longestHold: Rule<Int>?
    /// The maximum of seconds without use after which a mount locks.
    public internal(set) var lockWhenIdleAfter: Rule<Int>?
    /// The maximum of hours that class C's key stays while a mount is locked.
    public internal(set) var forgetAfter: Rule<Int>?
    /// The weakest that a mount may do with files that are older than this machine has seen: not `off`.
    public internal(set) var freshness: Rule<FreshnessLevel>?
    /// The maximum of wrong passcodes after which a vault is erased.
    public internal(set) var eraseAfter: Rule<Int>?
    public internal(set) var requiredEscrowKey: Rule<RequiredEscrowKey>?
    public internal(set) var allowedDeviceKeys: Rule<Set<DeviceKeyKind>>?
    /// What no user's configuration switches off in the agent.
    public internal(set) var requiredLockSources: Rule<Set<LockSource>>?

    /// An empty policy.
    public init(path: String) { self.path = path }

    public var isEmpty: Bool { self == Policy(path: path) }
}
