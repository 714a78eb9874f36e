import CLinux

/// What the process may do of what otherwise only root may.
///
/// Source: capabilities(7).
public struct Capabilities: OptionSet, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let changeOwners = Capabilities(rawValue: 1 << 0)  // CAP_CHOWN
    public static let overridePermissions = Capabilities(rawValue: 1 << 1)  // CAP_DAC_OVERRIDE
    public static let actAsOwner = Capabilities(rawValue: 1 << 3)  // CAP_FOWNER
    public static let administer = Capabilities(rawValue: 1 << 21)  // CAP_SYS_ADMIN

    /// Whether this process has all of them in effect.
    public var areHeld: Bool { lk_has_capabilities(rawValue) == 1 }
}
