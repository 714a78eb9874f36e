import Control
public import Failure
import Format
import Glibc
import Logging
public import Mount
import Posix
import Synchronization

/// The lock of one mount: the machine, its timer, the thread that evicts, and the clients that monitor.
///
/// Each event and its effects are handled under one mutex, so that no keys are admitted after a lock that came first.
/// Only the eviction runs outside, in a thread of its own. The mount never calls back. Under the mutex it only takes
/// locks that no thread holds during a wait for a disk, so a stuck request delays no lock, deadline or status.
public final class MountLock: Sendable {
    struct State {
        var machine: LockMachine
        /// Number of announcements so far.
        var sequence = 0
        /// Time of the last change of state, in seconds since 1970.
        var changed = MountFacts.wallClock
        /// Whether the mount was detached from the tree while programs use its files.
        var isDetached = false
        /// Whether the mount is to end as soon as no program uses its files.
        var isEnding = false
        /// Who holds the lock, by the number of the hold in the machine.
        var holders: [UInt64: Holder] = [:]
        /// Number of holds begun so far.
        var holds: UInt64 = 0
        var holdRate = HoldRate()
        /// Whether holds have ended of which clients that monitor are not told yet; false outside of `carryOut`.
        var hasUntoldEnds = false
    }

    /// The lock machine and what was announced. Lock order: docs/ARCHITECTURE.md.
    let state: Mutex<State>
    /// Distinguishes this daemon's changes from those of another.
    private let instance = String(hexadecimal: UInt128.random(in: .min ... .max), digits: 32)
    private let mount: any MountedFileSystem
    let facts: MountFacts
    private let timer: BootTimer
    private let evictor: OnDemandWorker
    private let feed = StatusFeed()
    let log: Logger
    private let manager: ServiceManager?

    public init(
        mount: any MountedFileSystem, facts: MountFacts, log: Logger, manager: ServiceManager? = nil
    ) throws(Errno) {
        let machine = LockMachine(
            grace: facts.grace, forgetAfter: facts.forgetAfter, longestHold: facts.longestHold)
        state = Mutex(State(machine: machine))
        self.mount = mount
        self.facts = facts
        self.log = log
        self.manager = manager
        timer = try BootTimer()
        evictor = try OnDemandWorker()
        try evictor.start { [weak self] in self?.evict() }
    }

    deinit { evictor.end() }

    /// Readable when the deadline has passed; the thread that waits for it then calls `deadlinePassed`.
    public var deadline: Descriptor { timer.descriptor }

    public func deadlinePassed() {
        // Without this the descriptor stays readable, and the signal thread would spin.
        do { _ = try timer.acknowledge() } catch { log.warning("cannot read the timer: \(error)") }
        handle(.deadline)
    }

    /// Starts the grace period or the eviction, and returns without waiting for its end.
    @discardableResult
    public func lock(now: Bool, _ depth: LockDepth = .strict) -> Status {
        handle(now ? .lockNow(depth) : .lock(depth))
    }

    /// The same for a client that may take the lock back.
    ///
    /// - Parameter earlier: the number of a lock that this client holds already; this one takes its place.
    /// - Returns: the status, and the number of the lock if the grace period runs.
    func beginLock(now: Bool, _ depth: LockDepth, inPlaceOf earlier: UInt64?) -> (status: Status, begun: UInt64?) {
        state.withLock { state in
            let time = BootClock.now
            carryOut(state.machine.handle(now ? .lockNow(depth) : .lock(depth), at: time), &state)
            let number = state.machine.locks
            // Nothing but the number goes: the lock that was just requested wants the grace period.
            if let earlier { carryOut(state.machine.handle(.takeBack(earlier), at: time), &state) }
            guard case .locking = state.machine.state else { return (status(of: state), nil) }
            return (status(of: state), number)
        }
    }

    /// Takes back the lock with this number, unless its grace period is over, also if programs hold it. The grace
    /// period goes on as long as another lock that was requested in it stands.
    func takeBack(_ lock: UInt64) -> Status { handle(.takeBack(lock)) }

    /// Locks without a grace period, and waits up to `seconds` until the keys are wiped. After a timeout the eviction
    /// goes on.
    func lockAndWait(seconds: Double) {
        let isLocking = { (status: Status) in status.state == .locking }
        guard isLocking(lock(now: true)) else { return }
        do throws(Failure) {
            try subscribe().first(within: seconds) { isLocking($0) ? nil : () }
        } catch {
            log.warning("the keys are not gone yet: \(error)")
        }
    }

    /// Notes that the mount was detached from the tree, while programs may still use its files, and locks it: it cannot
    /// be seen any more, and the user who unmounted it expects its keys to be wiped. A later unlock is possible.
    func noteDetached() {
        state.withLock { state in
            guard !state.isDetached else { return }
            state.isDetached = true
            lockWithoutHolds(&state)
        }
    }

    /// Locks a mount that is to end, with its grace period: no hold delays that, also none that is asked for later.
    func lockToEnd() {
        state.withLock { state in
            state.isEnding = true
            lockWithoutHolds(&state)
        }
    }

    /// The mount does not end after all: from now on a lock waits for holds again.
    func goOn() { state.withLock { $0.isEnding = false } }

    private func lockWithoutHolds(_ state: inout State) {
        for event in [LockMachine.Event.endHolds, .lock(.strict)] {
            carryOut(state.machine.handle(event, at: BootClock.now), &state)
        }
    }

    /// Number of locks requested so far; an unlock reads it before it proves a credential.
    public var locks: UInt64 { state.withLock { $0.machine.locks } }

    /// Opens all classes with keys that were just proven. If an eviction runs, waits for its end.
    ///
    /// - Parameter locks: the value of `locks` when the unlock was requested. A lock requested since then wins.
    /// - Throws: `lockedMeanwhile` in that case.
    public func unlock(with keys: any ProvenKeys, since locks: UInt64) throws(Failure) -> Status {
        while true {
            let opened = try state.withLock { state throws(Failure) -> Status? in
                guard state.machine.locks == locks else {
                    throw .lockedMeanwhile
                }
                var next = state.machine
                let effects = next.handle(.unlock, at: BootClock.now)
                if effects.contains(.awaitEviction) { return nil }
                if effects.contains(.admit) { try keys.admit() }
                state.machine = next
                carryOut(effects, &state)
                return status(of: state)
            }
            if let opened { return opened }
            _ = try subscribe().first { isEvicting() ? nil : $0 }
        }
    }

    /// Tells all clients that monitor about an event of the vault's keys.
    public func announce(_ event: StatusChange.Event) {
        log.info("\(event.rawValue)")
        state.withLock { tell(event, &$0) }
    }

    func tell(_ event: StatusChange.Event, _ state: inout State) {
        state.sequence += 1
        state.changed = MountFacts.wallClock
        feed.publish(StatusChange(event, status(of: state)))
    }

    public var status: Status {
        state.withLock { status(of: $0) }
    }

    /// Subscribes to the present status, or to the changes after a position, and to all later ones.
    public func subscribe(after position: MonitorPosition? = nil) throws(Failure) -> StatusSubscription {
        try state.withLock { state throws(Failure) in
            try feed.subscribe(startingWith: status(of: state), after: position)
        }
    }

    @discardableResult
    private func handle(_ event: LockMachine.Event) -> Status {
        state.withLock { state in
            carryOut(state.machine.handle(event, at: BootClock.now), &state)
            return status(of: state)
        }
    }

    private func isEvicting() -> Bool {
        state.withLock { state in
            guard case .evicting = state.machine.state else { return false }
            return true
        }
    }

    /// Runs under the mutex. `unlock` itself carries out `admit` and `awaitEviction`.
    func carryOut(_ effects: [LockMachine.Effect], _ state: inout State) {
        let lastEnd = effects.lastIndex { if case .endHold = $0 { true } else { false } }
        for (index, effect) in effects.enumerated() {
            switch effect {
            case .arm(let deadline, let depth):
                // The mount refuses contents from the deadline on by itself: after a suspension the timer's thread may
                // run late.
                mount.setDeadline(deadline, depth)
                setTimer(to: deadline)
            case .armHeld(let look, let closing, let depth):
                mount.moveDeadline(to: closing, depth)
                setTimer(to: look)
            // One change, however many end at once: a program that monitors need not take 32.
            case .endHold(let hold, let end): endHold(hold, end, tells: index == lastEnd, &state)
            case .disarm:
                disarm()
                if state.machine.state == .unlocked { mount.cancelDeadlines() }
            case .evict(let depth): startEviction(depth)
            case .announce: announce(&state)
            case .announceHeld: announceHeld(&state)
            case .admit, .awaitEviction: break
            }
        }
    }

    private func announce(_ state: inout State) {
        log.info("state: \(state.machine.state)")
        manager?.tell(Status.State(state.machine.state), at: facts.mountPoint)
        tell(StatusChange.Event(state.machine.state), &state)
    }

    private func setTimer(to time: Duration) {
        do {
            try timer.arm(at: time)
        } catch {
            // timerfd_settime(2) fails for bad arguments only; without a timer the keys would stay in memory.
            fatalError("cannot set the timer: \(error)")
        }
    }

    private func startEviction(_ depth: LockDepth) {
        mount.setDeadline(BootClock.now, depth)
        evictor.wake()
    }

    private func disarm() {
        // If the timer fires nevertheless, the machine has no deadline and ignores it.
        do { try timer.disarm() } catch { log.warning("cannot stop the timer: \(error)") }
    }

    private func evict() {
        guard case .evicting(let depth, _) = state.withLock({ $0.machine.state }) else { return }
        let eviction = mount.evict(depth)
        log.info(
            "keys taken out of memory",
            metadata: [
                "depth": "\(depth)", "took": "\(eviction.duration)", "inodes": "\(eviction.inodes)",
                "passes": "\(eviction.passes)",
            ])
        handle(.evicted)
    }

    func status(of state: State) -> Status {
        let moment = LockMoment(
            state: Status.State(state.machine.state),
            graceRemaining: state.machine.graceRemaining(at: BootClock.now),
            lastLockDuration: state.machine.lastLockDuration, isDeep: state.machine.depth == .deep,
            forgetDeadline: state.machine.forgetDeadline, instance: instance, sequence: state.sequence,
            changed: state.changed, isDetached: state.isDetached, holds: holds(of: state))
        var status = facts.status(moment, of: mount)
        status.program = facts.program
        return status
    }
}

extension StatusChange.Event {
    /// The event that entering this state means to clients. A deep lock ends before the first unlock.
    fileprivate init(_ state: LockMachine.State) {
        self =
            switch state {
            case .unlocked: .didBecomeAvailable
            case .locking, .held, .evicting: .willBecomeUnavailable
            case .locked, .beforeFirstUnlock: .didBecomeUnavailable
            }
    }
}

extension Status.State {
    init(_ state: LockMachine.State) {
        self =
            switch state {
            case .beforeFirstUnlock: .beforeFirstUnlock
            case .unlocked: .unlocked
            case .locking, .held, .evicting: .locking
            case .locked: .locked
            }
    }
}
