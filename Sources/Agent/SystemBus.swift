import Bus
import Glibc
import LockSources
import Posix

/// The thread of the system bus: logind's sessions, sleep and shutdown, and UPower's lid.
struct SystemBus {
    private static let sources: [LockSource] = [
        .sessionLock, .sessionInactive, .logout, .sleep, .shutdown, .lid, .idle,
    ]
    /// Between two looks at the state, at least.
    private static let pause = Duration.seconds(2)
    private let agent: Agent

    init(_ agent: Agent) { self.agent = agent }

    /// Never returns.
    func run() {
        var pause = Reconnection()
        // Known when the bus, or logind, went away.
        var sessions: [String: Logind.Session] = [:]
        while true {
            do throws(BusError) { try listen(&sessions) { pause.succeeded() } } catch {
                agent.record.set("no system bus: \(error)", of: Self.sources)
                pause.wait { agent.surroundings.log("no system bus: \(error); the agent waits for one") }
            }
        }
    }

    private func listen(
        _ sessions: inout [String: Logind.Session], _ connected: () -> Void
    ) throws(BusError) -> Never {
        let bus = try BusConnection(address: agent.surroundings.systemBus)
        let sender = "type='signal',sender='\(Logind.name)'"
        let owner = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'"
        for rule in [
            "\(sender),interface='\(Logind.manager)'", "\(sender),interface='\(Logind.sessionInterface)'",
            "\(sender),interface='\(Logind.properties)',path_namespace='\(Logind.path)'",
            "type='signal',sender='\(Logind.powerName)',interface='\(Logind.properties)',path='\(Logind.powerPath)'",
            "\(owner),arg0='\(Logind.name)'", "\(owner),arg0='\(Logind.powerName)'",
        ] { try bus.match(rule) }
        connected()
        var state: State
        do throws(Errno) { state = State(Logind(user: agent.user), try SessionLeaders()) } catch {
            throw .connection(error)
        }
        state.before = sessions
        ask(bus, &state)
        while true {
            sessions = state.logind.sessions.isEmpty ? state.before : state.logind.sessions
            let time: Duration? = state.needsLook ? Self.pause : nil
            guard let received = try bus.next(unless: state.leaders.readable, within: time) else {
                if state.needsLook, state.lastLook + Self.pause <= .now {
                    lookAgain(bus, &state)
                    findMissing(bus, &state)
                }
                while let path = state.leaders.next() {
                    agent.forget(session: path)
                    carryOut(state.logind.end(path), bus, &state)
                }
                continue
            }
            guard state.senders.believe(received.header, bus) else {
                state.needsLook = true
                if state.lastLook + Self.pause < .now {
                    lookAgain(bus, &state)
                    // Else what another connection sends would keep this from ever being done.
                    findMissing(bus, &state)
                }
                continue
            }
            let signal = received.whole()
            state.senders.note(signal)
            if let path = state.logind.unknownSession(of: signal) { learn(path, bus, &state) }
            if signal.member == "SessionRemoved", let path = signal.body.last?.string {
                state.leaders.forget(path)
                agent.forget(session: path)
            }
            carryOut(state.logind.handle(signal), bus, &state)
        }
    }

    private struct State: ~Copyable {
        var logind: Logind
        var leaders: SessionLeaders
        var senders = Senders()
        /// The machine does not sleep or stop while they are open, for up to InhibitDelayMaxSec.
        var delays: [Descriptor] = []
        /// Whether another connection has sent something since the last look, or sessions are missing. That connection
        /// may have filled the queue of this one, so that the bus has dropped what logind sent.
        var needsLook = false
        var lastLook = ContinuousClock.now
        /// The sessions that were known before logind was asked anew.
        var before: [String: Logind.Session] = [:]
        /// Told of when a person is there to see it.
        var unfinished: [LockOutcome] = []

        init(_ logind: Logind, _ leaders: consuming SessionLeaders) {
            self.logind = logind
            self.leaders = leaders
        }
    }

    private func carryOut(_ all: [Logind.Work], _ bus: borrowing BusConnection, _ state: inout State) {
        for work in all {
            switch work {
            case .event(let event) where event.source.isImmediate:
                state.unfinished = agent.carryOut(event).filter(\.isFailed)
                // The machine goes on only now.
                state.delays = []
            case .event(let event): agent.take(event)
            case .learn(let path): learn(path, bus, &state)
            case .woken:
                state.delays = delay(bus)
                agent.woke()
                agent.tell(.notLockedBeforeSleep(state.unfinished))
                state.unfinished = []
            case .shutdownCancelled:
                state.delays = delay(bus)
                state.unfinished = []
            case .restarted: ask(bus, &state)
            }
        }
    }

    /// Asks logind for its sessions, and for a delay of each sleep.
    private func ask(_ bus: borrowing BusConnection, _ state: inout State) {
        if !state.logind.sessions.isEmpty { state.before = state.logind.sessions }
        state.logind.forgetAll()
        state.leaders.forgetAll()
        do throws(BusError) {
            for path in try sessions(bus) { learn(path, bus, &state) }
            agent.record.set(nil, of: Self.sources)
            lookAgain(bus, &state)
            // Later for sessions that are missing: logind may not know all of them yet.
            state.needsLook = !state.before.isEmpty
        } catch {
            agent.record.set("logind does not answer: \(error)", of: Self.sources)
            state.delays = []
            return
        }
        if (try? bus.property(Logind.powerName, Logind.powerPath, Logind.powerName, "LidIsPresent")) == nil {
            agent.record.set("UPower does not answer; logind's own reaction to the lid counts", of: [.lid])
        }
        state.delays = delay(bus)
    }

    private func sessions(_ bus: borrowing BusConnection) throws(BusError) -> [String] {
        let listed = try bus.call(Logind.name, Logind.path, Logind.manager, "ListSessions")
        return (listed.first?.elements ?? []).compactMap { $0.elements?.last?.string }
    }

    /// Sessions that have ended while logind, or the bus, was away.
    private func findMissing(_ bus: borrowing BusConnection, _ state: inout State) {
        guard !state.before.isEmpty else { return }
        do throws(BusError) {
            for path in try sessions(bus) where state.logind.sessions[path] == nil { learn(path, bus, &state) }
        } catch {
            // Its return is heard, and then all is asked anew.
            return
        }
        carryOut(state.logind.missing(of: state.before), bus, &state)
        state.before = [:]
    }

    /// Takes up the state of all sessions and of the machine: no signal says what was so before, or was lost.
    private func lookAgain(_ bus: borrowing BusConnection, _ state: inout State) {
        state.needsLook = false
        for path in state.logind.sessions.keys {
            var found: [String: Bool] = [:]
            for name in ["LockedHint", "IdleHint", "Active"] {
                found[name] = (try? bus.property(Logind.name, path, Logind.sessionInterface, name))?.boolean
            }
            carryOut(state.logind.found(found, of: path), bus, &state)
        }
        // Without delays the sleep was heard already.
        for (name, source) in [("PreparingForSleep", LockSource.sleep), ("PreparingForShutdown", .shutdown)]
        where !state.delays.isEmpty {
            guard (try? bus.property(Logind.name, Logind.path, Logind.manager, name))?.boolean == true else { continue }
            carryOut([.event(SourceEvent(source, user: agent.user))], bus, &state)
        }
        state.lastLook = .now
    }

    /// A delay of sleep and one of shutdown, each for as long as its descriptor is open.
    ///
    /// One for both would ask polkit for the right to handle the lid, which a user has only in front of the machine.
    /// Source: org.freedesktop.login1(5), "Inhibit"; systemd, `method_inhibit` in src/login/logind-dbus.c.
    private func delay(_ bus: borrowing BusConnection) -> [Descriptor] {
        [LockSource.sleep, .shutdown].compactMap { source in
            do throws(BusError) {
                let reply = try bus.call(
                    Logind.name, Logind.path, Logind.manager, "Inhibit", .string(source.rawValue), .string("Latchkey"),
                    .string("The keys of vaults leave the memory first"), .string("delay"))
                agent.record.set(nil, of: [source])
                return reply.first?.descriptor
            } catch {
                agent.record.set("no delay of \(source.rawValue): \(error); a lock may end after it", of: [source])
                return nil
            }
        }
    }

    /// Asks logind about a session. One that is closing counts as ended.
    private func learn(_ path: String, _ bus: borrowing BusConnection, _ state: inout State) {
        func value(_ name: String) -> BusValue? {
            try? bus.property(Logind.name, path, Logind.sessionInterface, name)
        }
        guard let user = value("User")?.elements?.first?.unsigned, let user = UInt32(exactly: user),
            agent.user == nil || agent.user == user, value("State")?.string != "closing",
            // From systemd 256 on the manager of a user is a session as well: it is no login.
            value("Class")?.string?.hasPrefix("manager") != true
        else { return }
        let leader = value("Leader")?.unsigned.flatMap { UInt32(exactly: $0) } ?? 0
        guard state.leaders.watch(leader, of: path) else { return }
        let hasSeat = value("Seat")?.elements?.first?.string?.isEmpty == false
        state.logind.learn(Logind.Session(user: user, hasSeat: hasSeat), at: path)
    }
}

/// The connections that own logind's and UPower's names.
///
/// A match rule keeps no signal away that a connection sends to this one alone, and any user may do that on the system
/// bus: so the sender of each signal is compared. Only root can own these names there.
private struct Senders {
    private static let names = [Logind.name, Logind.powerName]
    private static let bus = "org.freedesktop.DBus"
    /// Unique names, by the name that they own.
    private var owners: [String: String] = [:]

    /// Whether the bus itself has sent a signal, or the owner of the name that its interface or path belongs to.
    mutating func believe(_ signal: BusSignal, _ bus: borrowing BusConnection) -> Bool {
        if signal.sender == Self.bus { return true }
        let name = signal.path.hasPrefix(Logind.powerPath) ? Logind.powerName : Logind.name
        if owners[name] == nil {
            let reply = try? bus.call(Self.bus, "/org/freedesktop/DBus", Self.bus, "GetNameOwner", .string(name))
            owners[name] = reply?.first?.string
        }
        return owners[name] == signal.sender
    }

    /// Follows a change of owners. Of signals that are believed.
    mutating func note(_ signal: BusSignal) {
        guard signal.sender == Self.bus, signal.member == "NameOwnerChanged" else { return }
        if let name = signal.body.first?.string { owners[name] = nil }
    }
}

/// How long to wait for a bus that is not there: longer each time, up to 10 seconds.
struct Reconnection {
    private var seconds: Double = 0
    private static let longest = 10.0

    mutating func succeeded() { seconds = 0 }

    /// - Parameter tell: called for the first of several failures in a row.
    mutating func wait(_ tell: () -> Void) {
        if seconds == 0 { tell() }
        seconds = min(max(seconds * 2, 0.25), Self.longest)
        usleep(UInt32(seconds * 1_000_000))
    }
}
