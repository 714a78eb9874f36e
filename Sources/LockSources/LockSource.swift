/// What makes the agent lock vaults. The raw values stand in configurations, policies and JSON.
public enum LockSource: String, Hashable, Sendable, CaseIterable {
    /// logind's Lock signal of a session, and its property LockedHint.
    case sessionLock = "session-lock"
    /// A screensaver's signal on the session bus.
    case screensaver
    /// Another user was switched to.
    case sessionInactive = "session-inactive"
    /// The user's last session has ended.
    case logout
    case sleep
    case shutdown
    case lid
    /// logind's idle hint of a session.
    case idle
    /// A FIDO2 security key was pulled out.
    case securityKey = "security-key"
    /// A USB device that the configuration names was pulled out.
    case usb

    /// Whether the keys go at once: the machine does not wait for a grace period.
    public var isImmediate: Bool { self == .sleep || self == .shutdown }

    /// Whether it can be undone before the grace period ends, which cancels the lock.
    public var canEnd: Bool {
        switch self {
        case .sessionLock, .screensaver, .sessionInactive, .lid, .idle: true
        case .logout, .sleep, .shutdown, .securityKey, .usb: false
        }
    }
}
