public import Bus
import LockSources

/// What logind's signals mean: the sessions that it has, and the events that they are.
///
/// A value, without the bus. Source: org.freedesktop.login1(5).
public struct Logind: Sendable {
    static let name = "org.freedesktop.login1"
    static let path = "/org/freedesktop/login1"
    static let manager = "org.freedesktop.login1.Manager"
    static let sessionInterface = "org.freedesktop.login1.Session"
    static let properties = "org.freedesktop.DBus.Properties"
    static let powerName = "org.freedesktop.UPower"
    static let powerPath = "/org/freedesktop/UPower"

    /// A session as far as it matters here.
    public struct Session: Hashable, Sendable {
        public let user: UInt32
        /// Whether it is at a screen: only such a session can become inactive.
        public let hasSeat: Bool
        /// The values of LockedHint, Active and IdleHint, as far as they are known.
        var hints: [String: Bool] = [:]

        public init(user: UInt32, hasSeat: Bool) {
            self.user = user
            self.hasSeat = hasSeat
        }
    }

    /// What a signal asks for besides an event.
    public enum Work: Hashable, Sendable {
        case event(SourceEvent)
        /// A new session, about which logind has to be asked.
        case learn(session: String)
        /// The machine has woken up: the next sleep must be delayed, too.
        case woken
        /// A shutdown was cancelled: the next one must be delayed, too.
        case shutdownCancelled
        /// logind is there again, or gone: all is asked anew.
        case restarted
    }

    /// The user whose sessions count; nil for those of all users.
    private let user: UInt32?
    /// By object path.
    public private(set) var sessions: [String: Session] = [:]

    public init(user: UInt32?) { self.user = user }

    public mutating func learn(_ session: Session, at path: String) {
        guard user == nil || session.user == user else { return }
        sessions[path] = session
    }

    /// The session that a signal is about, if it is not known: logind was not asked yet, or it is another user's.
    public func unknownSession(of signal: BusSignal) -> String? {
        guard signal.path.hasPrefix(Self.path + "/session/"), sessions[signal.path] == nil else { return nil }
        return signal.path
    }

    public mutating func forgetAll() { sessions = [:] }

    /// What it means that these sessions are not there any more, after all were asked for anew.
    public func missing(of before: [String: Session]) -> [Work] {
        let gone = Set(before.filter { sessions[$0.key] == nil }.values.map(\.user))
        return gone.subtracting(sessions.values.map(\.user)).sorted().map {
            .event(SourceEvent(.logout, user: $0))
        }
    }

    /// What the properties of a session mean that were found. Only what differs from what is known means anything: a
    /// vault that was unlocked while the screen is locked stays so.
    public mutating func found(_ properties: [String: Bool], of path: String) -> [Work] {
        let known = sessions[path]?.hints ?? [:]
        return hints(properties.filter { known[$0.key] != $0.value }, of: path)
    }

    /// What the values of LockedHint, Active and IdleHint mean.
    private mutating func hints(_ values: [String: Bool], of path: String) -> [Work] {
        sessions[path]?.hints.merge(values) { $1 }
        var work: [Work] = []
        if let isLocked = values["LockedHint"] { work += event(.sessionLock, isLocked ? .began : .ended, path) }
        if let isActive = values["Active"], sessions[path]?.hasSeat == true {
            work += event(.sessionInactive, isActive ? .ended : .began, path)
        }
        if let isIdle = values["IdleHint"] { work += event(.idle, isIdle ? .began : .ended, path) }
        return work
    }

    /// What it means that a session has ended; nothing if it is not known.
    public mutating func end(_ path: String) -> [Work] {
        guard let gone = sessions.removeValue(forKey: path), !sessions.values.contains(where: { $0.user == gone.user })
        else { return [] }
        return [.event(SourceEvent(.logout, user: gone.user))]
    }

    public mutating func handle(_ signal: BusSignal) -> [Work] {
        switch (signal.interface, signal.member) {
        case (Self.manager, "SessionNew"):
            guard let path = signal.body.dropFirst().first?.string else { return [] }
            return [.learn(session: path)]
        case (Self.manager, "SessionRemoved"):
            return signal.body.dropFirst().first?.string.map { end($0) } ?? []
        case (Self.manager, "PrepareForSleep"):
            guard signal.body.first?.boolean == true else { return [.woken] }
            return [.event(SourceEvent(.sleep, user: user))]
        case (Self.manager, "PrepareForShutdown"):
            guard let begins = signal.body.first?.boolean else { return [] }
            return [begins ? .event(SourceEvent(.shutdown, user: user)) : .shutdownCancelled]
        case (Self.sessionInterface, "Lock"): return event(.sessionLock, .began, signal.path)
        case (Self.sessionInterface, "Unlock"):
            // Only a wish: what shows the screen says by LockedHint whether it is unlocked.
            guard sessions[signal.path]?.hints["LockedHint"] != true else { return [] }
            return event(.sessionLock, .ended, signal.path)
        case (Self.properties, "PropertiesChanged"): return changed(signal)
        case ("org.freedesktop.DBus", "NameOwnerChanged"):
            return signal.body.first?.string == Self.name ? [.restarted] : []
        default: return []
        }
    }

    private mutating func changed(_ signal: BusSignal) -> [Work] {
        guard signal.body.count >= 2, let interface = signal.body[0].string, let values = signal.body[1].dictionary
        else { return [] }
        if interface == Self.powerName, let isClosed = values["LidIsClosed"]?.boolean {
            return [.event(SourceEvent(.lid, isClosed ? .began : .ended, user: user))]
        }
        guard interface == Self.sessionInterface else { return [] }
        return hints(values.compactMapValues(\.boolean), of: signal.path)
    }

    private func event(_ source: LockSource, _ phase: SourceEvent.Phase, _ path: String) -> [Work] {
        // Of a session that is not known, the user is not known either.
        guard let session = sessions[path] else { return [] }
        return [.event(SourceEvent(source, phase, user: session.user, subject: path))]
    }
}
