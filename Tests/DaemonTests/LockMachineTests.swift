import Mount
import Testing

@testable import Daemon

@Suite struct LockMachineTests {
    typealias Machine = LockMachine

    /// A machine, at time 100 with 10 s of grace, in a state that events have led to.
    private func machine(
        _ events: [Machine.Event], grace: Duration = .seconds(10), forgetAfter: Duration? = nil
    ) -> Machine {
        var machine = Machine(grace: grace, forgetAfter: forgetAfter)
        for event in events { _ = machine.handle(event, at: .seconds(100)) }
        return machine
    }

    struct Row: Sendable, CustomStringConvertible {
        let before: [Machine.Event]
        let event: Machine.Event
        let after: Machine.State
        let effects: [Machine.Effect]
        var now = Duration.seconds(104)

        var description: String { "\(before) + \(event)" }
    }

    private static let until = Machine.State.locking(until: .seconds(110), .strict)

    /// Every state with every event.
    static let table: [Row] = [
        Row(before: [], event: .lock(.strict), after: .beforeFirstUnlock, effects: []),
        Row(before: [], event: .lockNow(.strict), after: .beforeFirstUnlock, effects: []),
        Row(before: [], event: .unlock, after: .unlocked, effects: [.admit, .announce]),
        Row(before: [], event: .deadline, after: .beforeFirstUnlock, effects: []),
        Row(before: [], event: .evicted, after: .beforeFirstUnlock, effects: []),

        Row(
            before: [.unlock], event: .lock(.strict), after: .locking(until: .seconds(114), .strict),
            effects: [.arm(at: .seconds(114), .strict), .announce]),
        Row(
            before: [.unlock], event: .lockNow(.strict), after: .evicting(.strict, wanted: .strict),
            effects: [.evict(.strict), .announce]),
        Row(before: [.unlock], event: .unlock, after: .unlocked, effects: []),
        Row(before: [.unlock], event: .deadline, after: .unlocked, effects: []),
        Row(before: [.unlock], event: .evicted, after: .unlocked, effects: []),

        Row(before: [.unlock, .lock(.strict)], event: .lock(.strict), after: until, effects: []),
        Row(
            before: [.unlock, .lock(.strict)], event: .lockNow(.strict), after: .evicting(.strict, wanted: .strict),
            effects: [.disarm, .evict(.strict), .announce]),
        Row(before: [.unlock, .lock(.strict)], event: .unlock, after: .unlocked, effects: [.disarm, .announce]),
        Row(
            before: [.unlock, .lock(.strict)], event: .deadline, after: until,
            effects: [.arm(at: .seconds(110), .strict)]),
        Row(
            before: [.unlock, .lock(.strict)], event: .deadline, after: .evicting(.strict, wanted: .strict),
            effects: [.evict(.strict)], now: .seconds(110)),
        Row(before: [.unlock, .lock(.strict)], event: .evicted, after: until, effects: []),

        Row(
            before: [.unlock, .lockNow(.strict)], event: .lock(.strict), after: .evicting(.strict, wanted: .strict),
            effects: []),
        Row(
            before: [.unlock, .lockNow(.strict)], event: .lockNow(.strict), after: .evicting(.strict, wanted: .strict),
            effects: []),
        Row(
            before: [.unlock, .lockNow(.strict)], event: .unlock, after: .evicting(.strict, wanted: .strict),
            effects: [.awaitEviction]),
        Row(
            before: [.unlock, .lockNow(.strict)], event: .deadline, after: .evicting(.strict, wanted: .strict),
            effects: []),
        Row(before: [.unlock, .lockNow(.strict)], event: .evicted, after: .locked, effects: [.announce]),

        Row(before: [.unlock, .lockNow(.strict), .evicted], event: .lock(.strict), after: .locked, effects: []),
        Row(before: [.unlock, .lockNow(.strict), .evicted], event: .lockNow(.strict), after: .locked, effects: []),
        Row(
            before: [.unlock, .lockNow(.strict), .evicted], event: .unlock, after: .unlocked,
            effects: [.admit, .announce]),
        Row(before: [.unlock, .lockNow(.strict), .evicted], event: .deadline, after: .locked, effects: []),
        Row(before: [.unlock, .lockNow(.strict), .evicted], event: .evicted, after: .locked, effects: []),
    ]

    private static let deepUntil = Machine.State.locking(until: .seconds(110), .deep)
    private static let deepEviction = Machine.State.evicting(.deep, wanted: .deep)
    private static let deepened = Machine.State.evicting(.strict, wanted: .deep)

    /// Deep locks in every state, and every event in the states that only they lead to.
    static let deepTable: [Row] = [
        Row(before: [], event: .lock(.deep), after: .beforeFirstUnlock, effects: []),
        Row(before: [], event: .lockNow(.deep), after: .beforeFirstUnlock, effects: []),
        Row(
            before: [.unlock], event: .lock(.deep), after: .locking(until: .seconds(114), .deep),
            effects: [.arm(at: .seconds(114), .deep), .announce]),
        Row(before: [.unlock], event: .lockNow(.deep), after: deepEviction, effects: [.evict(.deep), .announce]),

        // The deadline stays, and the lock grows deeper.
        Row(
            before: [.unlock, .lock(.strict)], event: .lock(.deep), after: deepUntil,
            effects: [.arm(at: .seconds(110), .deep), .announce]),
        Row(
            before: [.unlock, .lock(.strict)], event: .lockNow(.deep), after: deepEviction,
            effects: [.disarm, .evict(.deep), .announce]),
        Row(before: [.unlock, .lock(.deep)], event: .lock(.deep), after: deepUntil, effects: []),
        Row(before: [.unlock, .lock(.deep)], event: .lock(.strict), after: deepUntil, effects: []),
        Row(
            before: [.unlock, .lock(.deep)], event: .lockNow(.strict), after: deepEviction,
            effects: [.disarm, .evict(.deep), .announce]),
        Row(before: [.unlock, .lock(.deep)], event: .unlock, after: .unlocked, effects: [.disarm, .announce]),
        Row(before: [.unlock, .lock(.deep)], event: .takeBack(1), after: .unlocked, effects: [.disarm, .announce]),
        Row(
            before: [.unlock, .lock(.deep)], event: .deadline, after: deepUntil,
            effects: [.arm(at: .seconds(110), .deep)]),
        Row(
            before: [.unlock, .lock(.deep)], event: .deadline, after: deepEviction, effects: [.evict(.deep)],
            now: .seconds(110)),
        // The client that has begun the lock cannot take back what another has asked for.
        Row(
            before: [.unlock, .lock(.strict), .lock(.deep)], event: .takeBack(1), after: deepUntil, effects: []),

        Row(before: [.unlock, .lockNow(.strict)], event: .lock(.deep), after: deepened, effects: [.announce]),
        Row(before: [.unlock, .lockNow(.strict)], event: .lockNow(.deep), after: deepened, effects: [.announce]),
        Row(
            before: [.unlock, .lockNow(.strict), .lock(.deep)], event: .lock(.deep), after: deepened, effects: []),
        Row(
            before: [.unlock, .lockNow(.strict), .lock(.deep)], event: .unlock, after: deepened,
            effects: [.awaitEviction]),
        // The eviction under way leaves C alone, so another follows; no client sees the state between them.
        Row(
            before: [.unlock, .lockNow(.strict), .lock(.deep)], event: .evicted, after: deepEviction,
            effects: [.evict(.deep)]),
        Row(
            before: [.unlock, .lockNow(.strict), .lock(.deep), .evicted], event: .evicted, after: .beforeFirstUnlock,
            effects: [.announce]),

        Row(before: [.unlock, .lockNow(.deep)], event: .lock(.strict), after: deepEviction, effects: []),
        Row(before: [.unlock, .lockNow(.deep)], event: .lockNow(.deep), after: deepEviction, effects: []),
        Row(before: [.unlock, .lockNow(.deep)], event: .unlock, after: deepEviction, effects: [.awaitEviction]),
        Row(before: [.unlock, .lockNow(.deep)], event: .deadline, after: deepEviction, effects: []),
        Row(before: [.unlock, .lockNow(.deep)], event: .takeBack(1), after: deepEviction, effects: []),
        Row(before: [.unlock, .lockNow(.deep)], event: .evicted, after: .beforeFirstUnlock, effects: [.announce]),

        // Locked already: programs had their grace period.
        Row(
            before: [.unlock, .lockNow(.strict), .evicted], event: .lock(.deep), after: deepEviction,
            effects: [.evict(.deep), .announce]),
        Row(
            before: [.unlock, .lockNow(.strict), .evicted], event: .lockNow(.deep), after: deepEviction,
            effects: [.evict(.deep), .announce]),

        Row(before: [.unlock, .lockNow(.deep), .evicted], event: .lock(.deep), after: .beforeFirstUnlock, effects: []),
        Row(
            before: [.unlock, .lockNow(.deep), .evicted], event: .lockNow(.strict), after: .beforeFirstUnlock,
            effects: []),
        Row(
            before: [.unlock, .lockNow(.deep), .evicted], event: .unlock, after: .unlocked,
            effects: [.admit, .announce]),
    ]

    @Test(arguments: deepTable) func `transition of a deep lock`(_ row: Row) {
        var machine = machine(row.before)
        #expect(machine.handle(row.event, at: row.now) == row.effects)
        #expect(machine.state == row.after)
    }

    @Test func `the depth of a lock is told until the unlock`() {
        #expect(machine([]).depth == nil)
        #expect(machine([.unlock]).depth == nil)
        #expect(machine([.unlock, .lock(.strict)]).depth == .strict)
        #expect(machine([.unlock, .lock(.strict), .lock(.deep)]).depth == .deep)
        #expect(machine([.unlock, .lockNow(.strict), .lock(.deep)]).depth == .deep)
        #expect(machine([.unlock, .lockNow(.strict), .evicted]).depth == .strict)
        #expect(machine([.unlock, .lockNow(.deep), .evicted]).depth == .deep)
        #expect(machine([.unlock, .lockNow(.deep), .evicted, .unlock]).depth == nil)
    }

    /// The time counts from the deadline of the lock, so that it does not depend on how long the eviction took.
    @Test func `a locked mount forgets class C after its time`() {
        var machine = machine([.unlock, .lock(.strict)], forgetAfter: .seconds(3600))
        _ = machine.handle(.deadline, at: .seconds(111))
        #expect(machine.forgetDeadline == nil)
        #expect(machine.handle(.evicted, at: .seconds(112)) == [.arm(at: .seconds(3710), .deep), .announce])
        #expect(machine.state == .locked && machine.forgetDeadline == .seconds(3710))
        #expect(machine.handle(.lock(.strict), at: .seconds(3000)).isEmpty, "another lock does not move it")
        #expect(machine.handle(.deadline, at: .seconds(3709)) == [.arm(at: .seconds(3710), .deep)])
        // Also if the machine slept past it.
        #expect(machine.handle(.deadline, at: .seconds(90_000)) == [.evict(.deep), .announce])
        #expect(machine.state == Self.deepEviction && machine.forgetDeadline == nil)
        #expect(machine.handle(.evicted, at: .seconds(90_001)) == [.announce])
        #expect(machine.state == .beforeFirstUnlock && machine.forgetDeadline == nil)
    }

    @Test func `an unlock keeps class C, and the time begins anew`() {
        var machine = machine([.unlock, .lockNow(.strict), .evicted], forgetAfter: .seconds(3600))
        #expect(machine.forgetDeadline == .seconds(3700))
        #expect(machine.handle(.unlock, at: .seconds(3699)) == [.disarm, .admit, .announce])
        #expect(machine.handle(.deadline, at: .seconds(3700)).isEmpty && machine.state == .unlocked)
        _ = machine.handle(.lockNow(.strict), at: .seconds(4000))
        _ = machine.handle(.evicted, at: .seconds(4001))
        #expect(machine.forgetDeadline == .seconds(7600))
        #expect(machine.handle(.lockNow(.deep), at: .seconds(4002)) == [.evict(.deep), .announce])
        #expect(machine.handle(.deadline, at: .seconds(7600)).isEmpty, "the timer of a lock that grew deeper")
    }

    @Test(arguments: table) func transition(_ row: Row) {
        var machine = machine(row.before)
        #expect(machine.handle(row.event, at: row.now) == row.effects)
        #expect(machine.state == row.after)
    }

    @Test func `a lock is taken back only before its deadline, and when no other stands`() {
        for state in [[], [.unlock], [.unlock, .lockNow(.strict)], [.unlock, .lockNow(.strict), .evicted]]
            as [[Machine.Event]]
        {
            var machine = machine(state)
            let before = machine.state
            #expect(machine.handle(.takeBack(machine.locks), at: .seconds(104)).isEmpty && machine.state == before)
        }
        var machine = machine([.unlock, .lock(.strict)])
        #expect(machine.locks == 1)
        #expect(machine.handle(.takeBack(1), at: .seconds(110)).isEmpty, "at the deadline")
        #expect(machine.handle(.takeBack(0), at: .seconds(104)).isEmpty, "another lock")
        _ = machine.handle(.lock(.strict), at: .seconds(104))
        #expect(machine.handle(.takeBack(1), at: .seconds(104)).isEmpty && machine.state == Self.until)
        #expect(machine.handle(.takeBack(1), at: .seconds(104)).isEmpty, "taken back already")
        #expect(machine.handle(.takeBack(2), at: .seconds(104)) == [.disarm, .announce] && machine.state == .unlocked)
        machine = self.machine([.unlock, .lock(.strict)])
        #expect(machine.handle(.takeBack(1), at: .seconds(109)) == [.disarm, .announce])
        #expect(machine.state == .unlocked && machine.locks == 1)
    }

    @Test func `a lock of an earlier grace does not count in a later one`() {
        var machine = machine([.unlock, .lock(.strict), .lock(.strict), .unlock, .lock(.strict)])
        #expect(machine.handle(.takeBack(2), at: .seconds(104)).isEmpty && machine.state == Self.until)
        #expect(machine.handle(.takeBack(3), at: .seconds(104)) == [.disarm, .announce])
    }

    @Test func `more locks than are counted make a grace final`() {
        var machine = machine([.unlock])
        for _ in 1...2000 { _ = machine.handle(.lock(.strict), at: .seconds(100)) }
        for lock in 1...machine.locks { _ = machine.handle(.takeBack(lock), at: .seconds(104)) }
        #expect(machine.state != .unlocked)
    }

    @Test func `without a grace a lock evicts at once`() {
        var machine = machine([.unlock], grace: .zero)
        #expect(machine.handle(.lock(.strict), at: .zero) == [.evict(.strict), .announce])
        #expect(machine.state == .evicting(.strict, wanted: .strict))
    }

    @Test func `a suspended machine has no grace left when it wakes`() {
        var machine = machine([.unlock, .lock(.strict)])
        #expect(machine.graceRemaining(at: .seconds(5000)) == .zero)
        #expect(machine.handle(.deadline, at: .seconds(5000)) == [.evict(.strict)])
    }

    @Test func `how long a lock took is counted from when the keys had to go`() {
        var machine = machine([.unlock])
        #expect(machine.lastLockDuration == nil)
        _ = machine.handle(.lock(.strict), at: .seconds(200))
        _ = machine.handle(.deadline, at: .seconds(211))
        #expect(machine.lastLockDuration == nil)
        _ = machine.handle(.evicted, at: .seconds(212))
        #expect(machine.lastLockDuration == .seconds(2))

        _ = machine.handle(.unlock, at: .seconds(213))
        _ = machine.handle(.lockNow(.strict), at: .seconds(300))
        _ = machine.handle(.lock(.strict), at: .seconds(301))
        _ = machine.handle(.evicted, at: .seconds(305))
        #expect(machine.lastLockDuration == .seconds(5))

        // The duration counts from the event that ends the grace early.
        _ = machine.handle(.unlock, at: .seconds(400))
        _ = machine.handle(.lock(.strict), at: .seconds(400))
        _ = machine.handle(.lockNow(.strict), at: .seconds(405))
        _ = machine.handle(.evicted, at: .seconds(406))
        #expect(machine.lastLockDuration == .seconds(1))
    }

    @Test func `grace is told while it runs`() {
        #expect(machine([]).graceRemaining(at: .zero) == nil)
        #expect(machine([.unlock, .lock(.strict)]).graceRemaining(at: .seconds(104)) == .seconds(6))
        #expect(machine([.unlock, .lockNow(.strict)]).graceRemaining(at: .seconds(104)) == .zero)
        #expect(machine([.unlock, .lockNow(.strict), .evicted]).graceRemaining(at: .seconds(104)) == nil)
    }

    private func isEvicting(_ machine: Machine) -> Bool {
        if case .evicting = machine.state { true } else { false }
    }

    /// From any state, through any 6 events: an eviction is requested once, and only for keys that are there; keys are
    /// admitted only if there are none; a deadline never moves later, and a lock never grows shallower.
    @Test(arguments: [nil, Duration.seconds(3), .seconds(100)])
    func `no sequence of events breaks the rules`(_ forgetAfter: Duration?) {
        let events: [Machine.Event] = [
            .lock(.strict), .lockNow(.strict), .lock(.deep), .lockNow(.deep), .unlock, .deadline, .evicted,
        ]
        var machines: Set<Machine> = [Machine(grace: .seconds(10), forgetAfter: forgetAfter)]
        for step in 1...6 {
            let now = Duration.seconds(step * 4)
            var next: Set<Machine> = []
            for machine in machines {
                for event in events {
                    var changed = machine
                    let effects = changed.handle(event, at: now)
                    let eviction = effects.compactMap { if case .evict(let depth) = $0 { depth } else { nil } }
                    if let depth = eviction.first {
                        #expect(eviction.count == 1 && changed.state == .evicting(depth, wanted: depth))
                        #expect(!isEvicting(machine) || event == .evicted && depth == .deep)
                        #expect(machine.state != .locked || depth == .deep)
                        #expect(machine.state != .beforeFirstUnlock)
                    }
                    if effects.contains(.admit) {
                        #expect(machine.state == .locked || machine.state == .beforeFirstUnlock)
                    }
                    if case .locking(let old, let depth) = machine.state,
                        case .locking(let new, let newDepth) = changed.state
                    {
                        #expect(new == old && newDepth >= depth)
                    }
                    // The end of a grace was announced at its beginning, and between two evictions nothing ends.
                    var isQuiet = isEvicting(machine) && isEvicting(changed) && event == .evicted
                    if case .locking = machine.state { isQuiet = event == .deadline && isEvicting(changed) }
                    #expect(effects.contains(.announce) == (changed.state != machine.state && !isQuiet))
                    if changed.state == .beforeFirstUnlock, machine.state != .beforeFirstUnlock {
                        #expect(machine.state == Self.deepEviction && event == .evicted)
                    }
                    if case .evicting(_, let wanted) = machine.state, event == .evicted {
                        #expect(changed.state != .locked || wanted == .strict, "a deep lock is not forgotten")
                    }
                    let forgets = forgetAfter != nil && changed.state == .locked
                    #expect((changed.forgetDeadline != nil) == forgets)
                    next.insert(changed)
                }
            }
            machines = next
        }
    }
}
