public import LockSources

/// What a source says.
public struct SourceEvent: Hashable, Sendable {
    public enum Phase: Hashable, Sendable {
        /// Lock.
        case began
        /// It still says so: mounts that were not there when it began are locked too.
        case lasts
        /// Its reason is gone. No lock is undone, but a grace period that it began is cancelled.
        case ended
    }

    public let source: LockSource
    public let phase: Phase
    /// The user whose mounts are meant; nil for those of all users.
    public let user: UInt32?
    /// The session, screensaver or device that it is about: what one has begun, another one does not end.
    public let subject: String

    public init(_ source: LockSource, _ phase: Phase = .began, user: UInt32?, subject: String = "") {
        self.source = source
        self.phase = phase
        self.user = user
        self.subject = subject
    }

    func `in`(_ phase: Phase) -> SourceEvent { SourceEvent(source, phase, user: user, subject: subject) }
}
