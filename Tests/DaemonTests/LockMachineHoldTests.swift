import Control
import Mount
import Testing

@testable import Daemon

@Suite struct LockMachineHoldTests {
    typealias Machine = LockMachine

    /// A machine, at time 100 with 10 s of grace and holds of at most 60 s, in a state that events have led to.
    private static func machine(
        _ events: [Machine.Event], grace: Duration = .seconds(10), longestHold: Duration = .seconds(60)
    ) -> Machine {
        var machine = Machine(grace: grace, longestHold: longestHold)
        for event in events { _ = machine.handle(event, at: .seconds(100)) }
        return machine
    }

    private static let hold = Machine.Event.hold(1, .seconds(30))
    private static let other = Machine.Event.hold(2, .seconds(50))
    private static let locking = Machine.State.locking(until: .seconds(110), .strict)
    private static let held = Machine.State.held(since: .seconds(110), .strict)
    private static let evicting = Machine.State.evicting(.strict, wanted: .strict)

    @Test func `a lock waits for a hold, and goes on when it is released`() {
        var machine = Self.machine([.unlock, Self.hold])
        #expect(machine.state == .unlocked)
        let begun = machine.handle(.lock(.strict), at: .seconds(100))
        #expect(begun == [.armHeld(look: .seconds(110), closing: .seconds(140), .strict), .announce])
        #expect(machine.state == Self.locking && machine.graceRemaining(at: .seconds(100)) == .seconds(40))
        let over = machine.handle(.deadline, at: .seconds(110))
        #expect(over == [.armHeld(look: .seconds(140), closing: .seconds(140), .strict), .announceHeld])
        #expect(machine.state == Self.held && machine.graceRemaining(at: .seconds(110)) == .seconds(30))
        #expect(
            machine.handle(.deadline, at: .seconds(120)) == [
                .armHeld(look: .seconds(140), closing: .seconds(140), .strict)
            ], "a timer that fired too early")
        #expect(machine.handle(.release(1), at: .seconds(121)) == [.evict(.strict)])
        #expect(machine.state == Self.evicting && machine.holds.isEmpty)
        _ = machine.handle(.evicted, at: .seconds(123))
        #expect(machine.lastLockDuration == .seconds(2), "it counts from the release")
    }

    @Test func `a hold that ends in the grace gives the lock its own deadline back`() {
        var machine = Self.machine([.unlock, Self.hold, .lock(.strict)])
        #expect(machine.handle(.release(1), at: .seconds(104)) == [.arm(at: .seconds(110), .strict)])
        #expect(machine.state == Self.locking && machine.deadline == .seconds(110))
        #expect(machine.handle(.deadline, at: .seconds(110)) == [.evict(.strict)])
    }

    @Test func `the keys go when the time of the longest hold is over, and each hold ends at its own`() {
        var machine = Self.machine([.unlock, Self.hold, Self.other, .lock(.strict)])
        #expect(machine.deadline == .seconds(160))
        let first = machine.handle(.deadline, at: .seconds(110))
        #expect(first == [.armHeld(look: .seconds(140), closing: .seconds(160), .strict), .announceHeld])
        let second = machine.handle(.deadline, at: .seconds(140))
        #expect(second == [.endHold(1, .timeOver), .armHeld(look: .seconds(160), closing: .seconds(160), .strict)])
        let third = machine.handle(.deadline, at: .seconds(161))
        #expect(third == [.endHold(2, .timeOver), .evict(.strict)])
        _ = machine.handle(.evicted, at: .seconds(162))
        #expect(machine.lastLockDuration == .seconds(2), "it counts from the end of the last hold")
    }

    @Test func `a lock counts from the last hold that it has waited for`() {
        var machine = Self.machine([.unlock, Self.hold, Self.other, .lock(.strict)])
        _ = machine.handle(.deadline, at: .seconds(110))
        // The timer's thread is late: the first one's time was over at 140.
        #expect(machine.handle(.release(2), at: .seconds(150)) == [.endHold(1, .timeOver), .evict(.strict)])
        _ = machine.handle(.evicted, at: .seconds(153))
        #expect(machine.lastLockDuration == .seconds(3))
    }

    @Test func `a machine that slept past everything evicts at once`() {
        var machine = Self.machine([.unlock, Self.hold, Self.other, .lock(.strict)])
        let effects = machine.handle(.deadline, at: .seconds(5000))
        #expect(effects == [.endHold(1, .timeOver), .endHold(2, .timeOver), .evict(.strict)])
    }

    @Test(arguments: [[Self.hold], [Self.hold, .lock(.strict)], [Self.hold, .lock(.strict), .deadline]])
    private func `a lock without a grace period waits for no hold`(_ events: [Machine.Event]) {
        var machine = Self.machine([.unlock] + events)
        let effects = machine.handle(.lockNow(.strict), at: .seconds(111))
        #expect(effects.contains(.evict(.strict)) && effects.contains(.endHold(1, .locked)))
        #expect(machine.state == Self.evicting && machine.holds.isEmpty)
    }

    @Test func `a hold does not come alive again at the next unlock`() {
        var machine = Self.machine([.unlock, Self.hold, .lockNow(.strict), .evicted, .unlock])
        #expect(machine.handle(.lock(.strict), at: .seconds(200)) == [.arm(at: .seconds(210), .strict), .announce])
        #expect(machine.handle(.release(1), at: .seconds(201)).isEmpty, "it has ended already")
    }

    @Test func `an unlock keeps a hold for the next lock, and so does a lock that is taken back`() {
        for (event, time) in [(Machine.Event.unlock, 139), (.takeBack(1), 109)] {
            var machine = Self.machine([.unlock, Self.hold, .lock(.strict)])
            if time > 110 { _ = machine.handle(.deadline, at: .seconds(110)) }
            #expect(machine.handle(event, at: .seconds(time)) == [.disarm, .announce], "\(event)")
            #expect(machine.state == .unlocked)
            _ = machine.handle(.lock(.strict), at: .seconds(200))
            #expect(machine.deadline == .seconds(240))
        }
    }

    @Test func `a hold gives no more time in which a lock can be taken back`() {
        var machine = Self.machine([.unlock, Self.hold, .lock(.strict)])
        #expect(machine.handle(.takeBack(1), at: .seconds(110)).isEmpty, "the timer's thread is late")
        _ = machine.handle(.deadline, at: .seconds(110))
        #expect(machine.handle(.takeBack(1), at: .seconds(111)).isEmpty && machine.state == Self.held)
        _ = machine.handle(.lock(.strict), at: .seconds(112))
        for lock in [UInt64(1), 2] {
            #expect(machine.handle(.takeBack(lock), at: .seconds(113)).isEmpty && machine.state == Self.held)
        }
        #expect(machine.handle(.unlock, at: .seconds(114)) == [.disarm, .announce])
        machine = Self.machine([.unlock, Self.hold, .lock(.strict)], grace: .zero)
        #expect(machine.handle(.takeBack(1), at: .seconds(100)).isEmpty, "there was no grace period")
    }

    @Test func `without a grace a lock waits for a hold all the same`() {
        var machine = Self.machine([.unlock, Self.hold], grace: .zero)
        let effects = machine.handle(.lock(.strict), at: .seconds(100))
        #expect(
            effects == [
                .armHeld(look: .seconds(130), closing: .seconds(130), .strict), .announce, .announceHeld,
            ])
        #expect(machine.state == .held(since: .seconds(100), .strict))
    }

    @Test func `a hold that comes in the grace moves its end, but never beyond the longest hold`() {
        var machine = Self.machine([.unlock, .lock(.strict)])
        let first = machine.handle(.hold(1, .seconds(5)), at: .seconds(109))
        #expect(first == [.armHeld(look: .seconds(110), closing: .seconds(115), .strict)])
        _ = machine.handle(.deadline, at: .seconds(110))
        for number in 2...50 {
            let now = Duration.seconds(110 + number)
            _ = machine.handle(.hold(UInt64(number), .seconds(3600)), at: now)
            _ = machine.handle(.release(UInt64(number - 1)), at: now)
            #expect(machine.deadline == .seconds(170))
        }
    }

    @Test func `a hold whose time is over when it is asked for ends at once`() {
        var machine = Self.machine([.unlock, Self.other, .lock(.strict)])
        _ = machine.handle(.deadline, at: .seconds(110))
        let effects = machine.handle(.hold(3, .seconds(5)), at: .seconds(120))
        #expect(effects.first == .endHold(3, .timeOver) && machine.holds.keys.sorted() == [2])
    }

    @Test func `nothing holds keys that are gone, or go now`() {
        let row: [([Machine.Event], Duration)] = [
            ([], .seconds(100)), ([.unlock, .lockNow(.strict)], .seconds(100)),
            ([.unlock, .lockNow(.strict), .evicted], .seconds(100)), ([.unlock, .lock(.strict)], .seconds(110)),
        ]
        for (events, now) in row {
            var machine = Self.machine(events)
            let before = machine
            #expect(machine.refusalOfHold(at: now) == .locked, "\(events)")
            #expect(machine.handle(Self.hold, at: now).isEmpty && machine == before)
        }
        #expect(Self.machine([.unlock], longestHold: .zero).refusalOfHold(at: .seconds(100)) == .forbidden)
        var full = Self.machine([.unlock])
        for number in 0..<UInt64(Machine.mostHolds) {
            #expect(full.refusalOfHold(at: .seconds(100)) == nil)
            _ = full.handle(.hold(number, .seconds(1)), at: .seconds(100))
        }
        #expect(full.refusalOfHold(at: .seconds(100)) == .tooMany)
    }

    @Test func `a deep lock closes class C at the same time, also if it comes while the lock is held`() {
        var machine = Self.machine([.unlock, Self.hold, .lock(.strict)])
        let deeper = machine.handle(.lock(.deep), at: .seconds(105))
        #expect(deeper == [.armHeld(look: .seconds(110), closing: .seconds(140), .deep), .announce])
        machine = Self.machine([.unlock, Self.hold, .lock(.strict)])
        _ = machine.handle(.deadline, at: .seconds(110))
        let held = machine.handle(.lock(.deep), at: .seconds(115))
        #expect(held == [.armHeld(look: .seconds(140), closing: .seconds(140), .deep), .announce])
        #expect(machine.depth == .deep)
        #expect(machine.handle(.deadline, at: .seconds(140)) == [.endHold(1, .timeOver), .evict(.deep)])
    }

    @Test func `a mount that is to end waits for its grace alone`() {
        var machine = Self.machine([.unlock, Self.hold, .lock(.strict)])
        let effects = machine.handle(.endHolds, at: .seconds(104))
        #expect(effects == [.endHold(1, .detached), .arm(at: .seconds(110), .strict)])
        machine = Self.machine([.unlock, Self.hold, .lock(.strict)])
        _ = machine.handle(.deadline, at: .seconds(110))
        #expect(machine.handle(.endHolds, at: .seconds(120)) == [.endHold(1, .detached), .evict(.strict)])
    }

    // MARK: All sequences

    /// A machine, and what its owner has set because of its effects.
    private struct Node: Hashable {
        var machine: Machine
        /// When the mount closes by itself, and when the timer fires.
        var gate: Duration?
        var timer: Duration?
        /// The deadline of the lock under way, without holds.
        var own: Duration?

        mutating func follow(_ effects: [Machine.Effect], at now: Duration) {
            for effect in effects {
                switch effect {
                case .arm(let time, _):
                    gate = min(gate ?? time, time)
                    timer = time
                case .armHeld(let look, let closing, _): (gate, timer) = (closing, look)
                case .disarm: (gate, timer) = (nil, nil)
                case .evict: gate = min(gate ?? now, now)
                default: break
                }
            }
            if machine.deadline == nil { (gate, timer, own) = (nil, nil, nil) }
        }
    }

    /// From any state, through any 6 events.
    @Test(arguments: [Duration.zero, .seconds(6)])
    func `no sequence of events keeps the keys longer than the policy allows`(_ grace: Duration) {
        let events: [Machine.Event] = [
            .lock(.strict), .lock(.deep), .lockNow(.strict), .unlock, .deadline, .evicted, .takeBack(1),
            .hold(1, .seconds(5)), .hold(2, .seconds(90)), .release(1), .release(2), .endHolds,
        ]
        let longest = Duration.seconds(9)
        var nodes: Set<Node> = [
            Node(machine: Self.machine([.unlock], grace: grace, longestHold: longest)),
            Node(machine: Self.machine([.unlock, .hold(1, .seconds(5))], grace: grace, longestHold: longest)),
        ]
        for step in 1...6 {
            let now = Duration.seconds(100 + step * 4)
            var next: Set<Node> = []
            for node in nodes {
                for event in events {
                    var changed = node
                    let before = node.machine
                    let effects = changed.machine.handle(event, at: now)
                    let machine = changed.machine
                    if before.deadline == nil, machine.deadline != nil { changed.own = now + grace }
                    changed.follow(effects, at: now)
                    check(node, event, changed, effects, now, longest)
                    next.insert(changed)
                }
            }
            nodes = next
        }
    }

    private func check(
        _ node: Node, _ event: Machine.Event, _ changed: Node, _ effects: [Machine.Effect], _ now: Duration,
        _ longest: Duration
    ) {
        let (before, after) = (node.machine, changed.machine)
        if let deadline = after.deadline {
            #expect(deadline <= changed.own! + longest, "the bound of all holds")
            #expect(deadline >= changed.own! && changed.gate == deadline, "what the mount knows")
            #expect(changed.timer! <= deadline, "the timer never sleeps past the deadline")
            if let earlier = before.deadline, deadline > earlier {
                if case .hold = event {} else { Issue.record("\(event) moves the deadline later") }
            }
            if case .lockNow = event { Issue.record("a lock without a grace period waits") }
        } else if before.deadline != nil, after.state != .unlocked {
            #expect(after.holds.isEmpty && effects.contains { if case .evict = $0 { true } else { false } })
        }
        if case .held(let since, _) = after.state {
            #expect(since <= now && !after.holds.isEmpty)
            #expect(after.state == before.state || effects.contains(.announceHeld) || before.depth != after.depth)
            if event == .deadline {
                #expect(after.holds.values.allSatisfy { since + $0 > now }, "each at its own time")
            }
        }
        switch after.state {
        case .beforeFirstUnlock, .evicting, .locked: #expect(after.holds.isEmpty)
        case .unlocked, .locking, .held: break
        }
        #expect(after.holds.values.allSatisfy { $0 <= longest })
        if case .takeBack = event, after != before {
            #expect(now < node.own!, "a hold lets a lock be taken back later")
        }
        // A client is told of each end that it has not asked for, and of no other.
        var ended = Set(before.holds.keys).subtracting(after.holds.keys)
        if case .release(let hold) = event { ended.remove(hold) }
        if case .hold(let hold, _) = event, effects.contains(.endHold(hold, .timeOver)) { ended.insert(hold) }
        let told = effects.compactMap { if case .endHold(let hold, _) = $0 { hold } else { nil } }
        #expect(Set(told) == ended && told.count == ended.count)
    }
}
