/// One reply to `Monitor`: a mount, and the event that changed it.
public struct StatusChange: Codable, Hashable, Sendable {
    /// What has happened to the contents of the strict classes, or to the vault's keys.
    public enum Event: String, Codable, Hashable, Sendable {
        /// The mount is being locked: the keys are evicted at the status's deadline. Sent again if the deadline moves
        /// nearer.
        case willBecomeUnavailable = "will-become-unavailable"
        /// The keys are wiped.
        case didBecomeUnavailable = "did-become-unavailable"
        /// The mount was unlocked: the keys are in memory, or stay there.
        case didBecomeAvailable = "did-become-available"
        /// The vault has new keys, and its files are being rewrapped.
        case rotationDidBegin = "rotation-did-begin"
        /// All files have the new keys, and the previous ones are removed.
        case rotationDidEnd = "rotation-did-end"
        /// Files were found that are older than what this machine has seen.
        case didFindOlder = "did-find-older"
        /// A program holds the lock from now on.
        case didBeginHold = "did-begin-hold"
        /// A program does not hold it any more.
        case didEndHold = "did-end-hold"
        /// The grace period is over, and the keys stay for the programs that hold the lock, until the status's deadline
        /// at the latest.
        case didBecomeHeld = "did-become-held"
    }

    /// Nil for the mount as it is now: the first reply to a client without a position, or with one that is not known.
    public var event: Event?
    /// The mount after the event.
    public var status: Status

    enum CodingKeys: String, CodingKey { case event, status }

    public init(_ event: Event?, _ status: Status) {
        self.event = event
        self.status = status
    }

    /// What to pass to `Monitor` for the changes after this one; nil from a daemon that does not number its changes.
    public var position: MonitorPosition? {
        guard let instance = status.instance, let sequence = status.sequence else { return nil }
        return MonitorPosition(instance: instance, sequence: sequence)
    }
}

/// The last change that a client has seen, and the daemon that sent it.
public struct MonitorPosition: Hashable, Sendable {
    public var instance: String
    public var sequence: Int

    public init(instance: String, sequence: Int) {
        self.instance = instance
        self.sequence = sequence
    }
}
