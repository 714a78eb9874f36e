public import Format

/// What a vault or a mount is like, as far as it is known: nil for what is not, or is not being decided.
public struct Facts: Hashable, Sendable {
    /// When something happens that need not happen.
    public enum Limit: Hashable, Sendable {
        case never
        case after(Int)
    }

    /// The zxcvbn score of a passcode that is to be set: 0 to 4.
    public var passcodeScore: Int?
    /// The class of the vault's root: of new files where no folder says otherwise.
    public var defaultClass: ProtectionClass?
    /// Seconds between a lock and the end of the keys, rounded up.
    public var grace: Int?
    /// Seconds without use after which the mount locks.
    public var idleLock: Limit?
    /// Wrong passcodes after which the vault is erased.
    public var erasure: Limit?
    /// The public keys of the vault's escrow slots, 32 bytes each; empty if there are none.
    public var escrowKeys: [[UInt8]]?
    public var deviceKey: DeviceKeyKind?

    /// Nothing is known.
    public init() {}
}
