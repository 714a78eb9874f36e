import Testing

@testable import Daemon

@Suite struct LockMachineTests {
    typealias Machine = LockMachine

    /// A machine, at time 100 with 10 s of grace, in a state that events have led to.
    private func machine(_ events: [Machine.Event], grace: Duration = .seconds(10)) -> Machine {
        var machine = Machine(grace: grace)
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

    private static let until = Machine.State.locking(until: .seconds(110))

    /// Every state with every event.
    static let table: [Row] = [
        Row(before: [], event: .lock, after: .beforeFirstUnlock, effects: []),
        Row(before: [], event: .lockNow, after: .beforeFirstUnlock, effects: []),
        Row(before: [], event: .unlock, after: .unlocked, effects: [.admit, .announce]),
        Row(before: [], event: .deadline, after: .beforeFirstUnlock, effects: []),
        Row(before: [], event: .evicted, after: .beforeFirstUnlock, effects: []),

        Row(
            before: [.unlock], event: .lock, after: .locking(until: .seconds(114)),
            effects: [.arm(at: .seconds(114)), .announce]),
        Row(before: [.unlock], event: .lockNow, after: .evicting, effects: [.evict, .announce]),
        Row(before: [.unlock], event: .unlock, after: .unlocked, effects: []),
        Row(before: [.unlock], event: .deadline, after: .unlocked, effects: []),
        Row(before: [.unlock], event: .evicted, after: .unlocked, effects: []),

        Row(before: [.unlock, .lock], event: .lock, after: until, effects: []),
        Row(before: [.unlock, .lock], event: .lockNow, after: .evicting, effects: [.disarm, .evict, .announce]),
        Row(before: [.unlock, .lock], event: .unlock, after: .unlocked, effects: [.disarm, .announce]),
        Row(before: [.unlock, .lock], event: .deadline, after: until, effects: [.arm(at: .seconds(110))]),
        Row(
            before: [.unlock, .lock], event: .deadline, after: .evicting, effects: [.evict], now: .seconds(110)),
        Row(before: [.unlock, .lock], event: .evicted, after: until, effects: []),

        Row(before: [.unlock, .lockNow], event: .lock, after: .evicting, effects: []),
        Row(before: [.unlock, .lockNow], event: .lockNow, after: .evicting, effects: []),
        Row(before: [.unlock, .lockNow], event: .unlock, after: .evicting, effects: [.awaitEviction]),
        Row(before: [.unlock, .lockNow], event: .deadline, after: .evicting, effects: []),
        Row(before: [.unlock, .lockNow], event: .evicted, after: .locked, effects: [.announce]),

        Row(before: [.unlock, .lockNow, .evicted], event: .lock, after: .locked, effects: []),
        Row(before: [.unlock, .lockNow, .evicted], event: .lockNow, after: .locked, effects: []),
        Row(before: [.unlock, .lockNow, .evicted], event: .unlock, after: .unlocked, effects: [.admit, .announce]),
        Row(before: [.unlock, .lockNow, .evicted], event: .deadline, after: .locked, effects: []),
        Row(before: [.unlock, .lockNow, .evicted], event: .evicted, after: .locked, effects: []),
    ]

    @Test(arguments: table) func transition(_ row: Row) {
        var machine = machine(row.before)
        #expect(machine.handle(row.event, at: row.now) == row.effects)
        #expect(machine.state == row.after)
    }

    @Test func `without a grace a lock evicts at once`() {
        var machine = machine([.unlock], grace: .zero)
        #expect(machine.handle(.lock, at: .zero) == [.evict, .announce])
        #expect(machine.state == .evicting)
    }

    @Test func `a suspended machine has no grace left when it wakes`() {
        var machine = machine([.unlock, .lock])
        #expect(machine.graceRemaining(at: .seconds(5000)) == .zero)
        #expect(machine.handle(.deadline, at: .seconds(5000)) == [.evict])
    }

    @Test func `how long a lock took is counted from when the keys had to go`() {
        var machine = machine([.unlock])
        #expect(machine.lastLockDuration == nil)
        _ = machine.handle(.lock, at: .seconds(200))
        _ = machine.handle(.deadline, at: .seconds(211))
        #expect(machine.lastLockDuration == nil)
        _ = machine.handle(.evicted, at: .seconds(212))
        #expect(machine.lastLockDuration == .seconds(2))

        _ = machine.handle(.unlock, at: .seconds(213))
        _ = machine.handle(.lockNow, at: .seconds(300))
        _ = machine.handle(.lock, at: .seconds(301))
        _ = machine.handle(.evicted, at: .seconds(305))
        #expect(machine.lastLockDuration == .seconds(5))

        // The duration counts from the event that ends the grace early.
        _ = machine.handle(.unlock, at: .seconds(400))
        _ = machine.handle(.lock, at: .seconds(400))
        _ = machine.handle(.lockNow, at: .seconds(405))
        _ = machine.handle(.evicted, at: .seconds(406))
        #expect(machine.lastLockDuration == .seconds(1))
    }

    @Test func `grace is told while it runs`() {
        #expect(machine([]).graceRemaining(at: .zero) == nil)
        #expect(machine([.unlock, .lock]).graceRemaining(at: .seconds(104)) == .seconds(6))
        #expect(machine([.unlock, .lockNow]).graceRemaining(at: .seconds(104)) == .zero)
        #expect(machine([.unlock, .lockNow, .evicted]).graceRemaining(at: .seconds(104)) == nil)
    }

    /// From any state, through any 6 events: an eviction is requested once and only while unlocked, keys are admitted
    /// only if there are none, and a deadline never moves later.
    @Test func `no sequence of events breaks the rules`() {
        let events: [Machine.Event] = [.lock, .lockNow, .unlock, .deadline, .evicted]
        var machines: Set<Machine> = [Machine(grace: .seconds(10))]
        for step in 1...6 {
            let now = Duration.seconds(step * 4)
            var next: Set<Machine> = []
            for machine in machines {
                for event in events {
                    var changed = machine
                    let effects = changed.handle(event, at: now)
                    if effects.contains(.evict) {
                        #expect(changed.state == .evicting && machine.state != .evicting)
                        #expect(machine.state != .locked && machine.state != .beforeFirstUnlock)
                    }
                    if effects.contains(.admit) {
                        #expect(machine.state == .locked || machine.state == .beforeFirstUnlock)
                    }
                    if case .locking(let old) = machine.state, case .locking(let new) = changed.state {
                        #expect(new == old)
                    }
                    // The end of a grace was announced at its beginning.
                    let isNews = changed.state != machine.state && !(event == .deadline && changed.state == .evicting)
                    #expect(effects.contains(.announce) == isNews)
                    #expect(changed.state != .beforeFirstUnlock || machine.state == .beforeFirstUnlock)
                    next.insert(changed)
                }
            }
            machines = next
        }
    }
}
