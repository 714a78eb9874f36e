/// One answer to `Monitor`: a mount, and what has happened to it.
public struct StatusChange: Codable, Hashable, Sendable {
    /// What has become of the contents of the strict classes, or of the vault's keys.
    public enum Event: String, Codable, Hashable, Sendable {
        /// Somebody has locked: at the status's deadline the keys go. Again when that has moved nearer.
        case willBecomeUnavailable = "will-become-unavailable"
        /// The keys are gone.
        case didBecomeUnavailable = "did-become-unavailable"
        /// Somebody has unlocked: the keys are there, or they stay.
        case didBecomeAvailable = "did-become-available"
        /// The vault has new keys, and its files are given them.
        case rotationDidBegin = "rotation-did-begin"
        /// All files have them, and the old ones are gone.
        case rotationDidEnd = "rotation-did-end"
    }

    /// Nil for the mount as it is now: the first answer to who has not seen, or cannot be told, what went before.
    public var event: Event?
    /// The mount when that had happened.
    public var status: Status

    public init(_ event: Event?, _ status: Status) {
        self.event = event
        self.status = status
    }

    /// What to pass to `Monitor` to hear of what comes after this; nil from a daemon that does not number its changes.
    public var position: MonitorPosition? {
        guard let instance = status.instance, let sequence = status.sequence else { return nil }
        return MonitorPosition(instance: instance, sequence: sequence)
    }
}

/// The last change that a client has seen, and of which daemon.
public struct MonitorPosition: Hashable, Sendable {
    public var instance: String
    public var sequence: Int

    public init(instance: String, sequence: Int) {
        self.instance = instance
        self.sequence = sequence
    }
}
