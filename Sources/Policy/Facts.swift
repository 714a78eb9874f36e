public import Format

/// The known properties of a vault or a mount; nil for those that are unknown or not affected.
public struct Facts: Hashable, Sendable {
    /// When an optional action happens.
    public enum Limit: Hashable, Sendable {
        case never
        case after(Int)
    }

    /// The zxcvbn score of a new passcode: 0 to 4.
    public var passcodeScore: Int?
    /// The class of the vault's root, which new files get if no folder says otherwise.
    public var defaultClass: ProtectionClass?
    /// Seconds between a lock and the eviction of the keys, rounded up.
    public var grace: Int?
    /// The most seconds that a mount lets a program hold its lock.
    public var longestHold: Int?
    /// Seconds without use after which the mount locks.
    public var idleLock: Limit?
    /// Hours locked after which the mount closes class C as well, rounded up.
    public var forgetting: Limit?
    /// What the mount does with files that are older than this machine has seen.
    public var freshness: FreshnessLevel?
    /// The number of wrong passcodes after which the vault is erased.
    public var erasure: Limit?
    /// The public keys of the vault's escrow slots, 32 bytes each; empty if there are none.
    public var escrowKeys: [[UInt8]]?
    public var deviceKey: DeviceKeyKind?

    /// Without any known property.
    public init() {}
}
