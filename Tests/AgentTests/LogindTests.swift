import Agent
import Bus
import LockSources
import Testing

/// What signals of logind and UPower mean.
@Suite struct LogindTests {
    private static let session = "/org/freedesktop/login1/session/_31"
    private static let ssh = "/org/freedesktop/login1/session/_32"

    private func logind(user: UInt32? = 1000) -> Logind {
        var logind = Logind(user: user)
        logind.learn(Logind.Session(user: 1000, hasSeat: true), at: Self.session)
        logind.learn(Logind.Session(user: 1000, hasSeat: false), at: Self.ssh)
        logind.learn(Logind.Session(user: 1001, hasSeat: true), at: "/org/freedesktop/login1/session/_33")
        return logind
    }

    private func manager(_ member: String, _ body: BusValue...) -> BusSignal {
        BusSignal(
            path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager", member: member, body: body)
    }

    private func changed(
        _ path: String, _ property: String, _ value: BusValue, of interface: String = "org.freedesktop.login1.Session"
    ) -> BusSignal {
        BusSignal(
            path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
            body: [
                .string(interface), .array([.entry(.string(property), .variant(value))]), .array([]),
            ])
    }

    private func session(_ path: String, _ member: String) -> BusSignal {
        BusSignal(path: path, interface: "org.freedesktop.login1.Session", member: member, body: [])
    }

    private func event(_ source: LockSource, _ phase: SourceEvent.Phase, _ user: UInt32? = 1000) -> [Logind.Work] {
        [.event(SourceEvent(source, phase, user: user))]
    }

    @Test func aSessionLocks() {
        var logind = logind()
        #expect(logind.handled(session(Self.session, "Lock")) == event(.sessionLock, .began))
        #expect(logind.handled(session(Self.session, "Unlock")) == event(.sessionLock, .ended))
        #expect(logind.handled(changed(Self.session, "LockedHint", .boolean(true))) == event(.sessionLock, .began))
        #expect(logind.handled(changed(Self.session, "LockedHint", .boolean(false))) == event(.sessionLock, .ended))
        #expect(logind.handled(changed(Self.ssh, "IdleHint", .boolean(true))) == event(.idle, .began))
        #expect(logind.handled(changed(Self.ssh, "IdleHint", .boolean(false))) == event(.idle, .ended))
    }

    /// It is a wish of a program, which what shows the screen may not follow.
    @Test func unlockOfAScreenThatStaysLocked() {
        var logind = logind()
        _ = logind.handled(changed(Self.session, "LockedHint", .boolean(true)))
        #expect(logind.handled(session(Self.session, "Unlock")) == [])
        _ = logind.handled(changed(Self.session, "LockedHint", .boolean(false)))
        #expect(logind.handled(session(Self.session, "Unlock")) == event(.sessionLock, .ended))
    }

    /// Only a session on a screen: a session over SSH is never in front.
    @Test func aSessionIsInactive() {
        var logind = logind()
        #expect(logind.handled(changed(Self.session, "Active", .boolean(false))) == event(.sessionInactive, .began))
        #expect(logind.handled(changed(Self.session, "Active", .boolean(true))) == event(.sessionInactive, .ended))
        #expect(logind.handled(changed(Self.ssh, "Active", .boolean(false))) == [])
    }

    /// Another user's session says nothing to a user's agent; root's agent knows whose it is.
    @Test func anotherUsersSession() {
        let other = "/org/freedesktop/login1/session/_33"
        var logind = logind()
        #expect(logind.handled(session(other, "Lock")) == [])
        #expect(logind.unknownSession(of: session(other, "Lock")) == other)
        var machine = self.logind(user: nil)
        #expect(machine.handled(session(other, "Lock")) == event(.sessionLock, .began, 1001))
        #expect(machine.unknownSession(of: session(other, "Lock")) == nil)
    }

    @Test func theLastSessionEnds() {
        var logind = logind()
        #expect(logind.handled(manager("SessionRemoved", .string("2"), .string(Self.ssh))) == [])
        #expect(
            logind.handled(manager("SessionRemoved", .string("1"), .string(Self.session))) == event(.logout, .began))
        // Of a session that is gone.
        #expect(logind.handled(manager("SessionRemoved", .string("1"), .string(Self.session))) == [])
        #expect(logind.handled(session(Self.session, "Lock")) == [])
        #expect(
            logind.handled(manager("SessionNew", .string("4"), .string("/org/freedesktop/login1/session/_34")))
                == [.learn(session: "/org/freedesktop/login1/session/_34")])
    }

    @Test func theMachineSleepsAndStops() {
        var logind = logind()
        #expect(logind.handled(manager("PrepareForSleep", .boolean(true))) == event(.sleep, .began))
        #expect(logind.handled(manager("PrepareForSleep", .boolean(false))) == [.woken])
        #expect(logind.handled(manager("PrepareForShutdown", .boolean(true))) == event(.shutdown, .began))
        #expect(logind.handled(manager("PrepareForShutdown", .boolean(false))) == [.shutdownCancelled])
        var machine = self.logind(user: nil)
        #expect(machine.handled(manager("PrepareForSleep", .boolean(true))) == event(.sleep, .began, nil))
    }

    @Test func theLidCloses() {
        var logind = logind()
        let power = ("/org/freedesktop/UPower", "org.freedesktop.UPower")
        #expect(
            logind.handled(changed(power.0, "LidIsClosed", .boolean(true), of: power.1)) == event(.lid, .began))
        #expect(
            logind.handled(changed(power.0, "LidIsClosed", .boolean(false), of: power.1)) == event(.lid, .ended))
        #expect(logind.handled(changed(power.0, "OnBattery", .boolean(true), of: power.1)) == [])
    }

    @Test func logindIsThereAgain() {
        var logind = logind()
        func owner(_ name: String) -> BusSignal {
            BusSignal(
                path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged",
                body: [.string(name), .string(":1.4"), .string(":1.9")])
        }
        #expect(logind.handled(owner("org.freedesktop.login1")) == [.restarted])
        #expect(logind.handled(owner("org.freedesktop.systemd1")) == [])
    }

    /// Bodies of other types than logind's mean nothing.
    /// What one session has begun, another one of the same user does not end.
    @Test func sessionsAreToldApart() {
        var logind = logind()
        let (one, other) = (
            logind.handle(session(Self.session, "Lock")), logind.handle(session(Self.ssh, "Lock"))
        )
        #expect(one == [.event(SourceEvent(.sessionLock, user: 1000, subject: Self.session))])
        #expect(other == [.event(SourceEvent(.sessionLock, user: 1000, subject: Self.ssh))])
    }

    /// The state that an agent finds when it starts, and sessions that ended while it heard nothing.
    @Test func whatIsFound() {
        var logind = logind(user: nil)
        func found(_ values: [String: Bool], _ path: String) -> [LockSource] {
            logind.found(values, of: path).compactMap { work in
                if case .event(let event) = work, event.phase == .began { event.source } else { nil }
            }
        }
        #expect(
            found(["LockedHint": true, "IdleHint": true, "Active": false], Self.session)
                == [.sessionLock, .sessionInactive, .idle])
        #expect(found(["LockedHint": true, "IdleHint": true, "Active": false], Self.session) == [])
        _ = logind.handle(changed(Self.session, "LockedHint", .boolean(false)))
        #expect(found(["LockedHint": true, "IdleHint": true], Self.session) == [.sessionLock])
        #expect(found(["Active": false], Self.ssh) == [])
        #expect(found(["LockedHint": false, "IdleHint": false, "Active": true], Self.session) == [])
        #expect(found(["LockedHint": true], "/none") == [])

        let before = logind.sessions
        #expect(logind.missing(of: before) == [])
        logind.forgetAll()
        logind.learn(Logind.Session(user: 1000, hasSeat: false), at: Self.ssh)
        #expect(logind.missing(of: before) == [.event(SourceEvent(.logout, user: 1001))])
    }

    @Test func whatIsNotLogindsForm() {
        var logind = logind()
        for body in [[], [BusValue.string("true")], [.integer(1)], [.array([])]] {
            for member in ["PrepareForShutdown", "SessionNew", "SessionRemoved", "Nothing"] {
                #expect(
                    logind.handled(
                        BusSignal(
                            path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager",
                            member: member, body: body)) == [])
            }
            #expect(
                logind.handled(
                    BusSignal(
                        path: Self.session, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
                        body: body)) == [])
        }
        #expect(logind.handled(changed(Self.session, "LockedHint", .string("yes"))) == [])
    }
}

extension Logind {
    /// What a signal means, without the session that it is about.
    fileprivate mutating func handled(_ signal: BusSignal) -> [Work] {
        handle(signal).map { work in
            guard case .event(let event) = work else { return work }
            return .event(SourceEvent(event.source, event.phase, user: event.user))
        }
    }
}
