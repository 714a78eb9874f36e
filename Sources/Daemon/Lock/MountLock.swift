import Control
public import Failure
import Format
import Glibc
import Logging
import Posix
import Synchronization

/// The lock of one mount: the machine, its timer, the thread that takes the keys out, and those who watch.
///
/// Every event is handled whole under one mutex, effects included, so that keys are never admitted behind the back of a
/// lock. Only the eviction runs outside, in a thread of its own. The mutex is the outermost lock of the process, and
/// the mount never calls back. Of the mount's own locks only those are taken under it that nobody holds while he waits
/// for a disk: a request that is stuck delays neither a lock, nor the deadline, nor a status.
public final class MountLock: Sendable {
    private struct State {
        var machine: LockMachine
        /// How often it was announced that something had changed.
        var sequence = 0
        /// When it last was, in seconds since 1970.
        var changed = MountFacts.wallClock
        /// Whether the mount has left the tree while programs use its files.
        var isDetached = false
    }

    private let state: Mutex<State>
    /// Tells this daemon's changes from those of another.
    private let instance = String(hexadecimal: UInt128.random(in: .min ... .max), digits: 32)
    private let mount: any MountedFileSystem
    private let facts: MountFacts
    private let timer: BootTimer
    private let evictor: OnDemandWorker
    private let feed = StatusFeed()
    private let log: Logger

    public init(mount: any MountedFileSystem, facts: MountFacts, log: Logger) throws(Errno) {
        state = Mutex(State(machine: LockMachine(grace: facts.grace)))
        self.mount = mount
        self.facts = facts
        self.log = log
        timer = try BootTimer()
        evictor = try OnDemandWorker()
        try evictor.start { [weak self] in self?.evict() }
    }

    deinit { evictor.end() }

    /// Readable when the deadline has passed; then somebody calls `deadlinePassed`.
    public var deadline: Descriptor { timer.descriptor }

    public func deadlinePassed() {
        // Or it would stay readable, and who waits for it would not wait any more.
        do { _ = try timer.acknowledge() } catch { log.warning("cannot read the timer: \(error)") }
        handle(.deadline)
    }

    /// Starts the grace, or the eviction, and returns without waiting for its end.
    @discardableResult
    public func lock(now: Bool) -> Status {
        handle(now ? .lockNow : .lock)
    }

    /// Locks without grace, and waits until the keys are gone; not longer than `seconds`, after which they still go as
    /// soon as they can.
    func lockAndWait(seconds: Double) {
        let isLocking = { (status: Status) in status.state == .locking }
        guard isLocking(lock(now: true)) else { return }
        do throws(Failure) {
            try subscribe().first(within: seconds) { isLocking($0) ? nil : () }
        } catch {
            log.warning("the keys are not gone yet: \(error)")
        }
    }

    /// The mount has left the tree, and programs may use its files still. It locks: nobody sees it any more, and who
    /// has unmounted it wants its keys gone. An unlock is possible after that.
    func noteDetached() {
        let isNew = state.withLock { state in
            defer { state.isDetached = true }
            return !state.isDetached
        }
        if isNew { lock(now: false) }
    }

    /// How often somebody has asked for a lock so far: what an unlock begins with.
    public var locks: UInt64 { state.withLock { $0.machine.locks } }

    /// Opens all classes with keys that were just proven; after the end of an eviction, if one runs.
    ///
    /// - Parameter locks: what `locks` was when somebody asked for this. Whoever has locked since must not find it
    ///   undone.
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

    /// Tells all who watch what has become of the vault's keys.
    public func announce(_ event: StatusChange.Event) {
        log.info("\(event.rawValue)")
        state.withLock { state in
            state.sequence += 1
            feed.publish(StatusChange(event, status(of: state)))
        }
    }

    public var status: Status {
        state.withLock { status(of: $0) }
    }

    /// The present status, or the changes after a position, and each change of state after that.
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
        state.withLock { $0.machine.state == .evicting }
    }

    /// Runs under the mutex. `admit` and `awaitEviction` are the unlock's own business.
    private func carryOut(_ effects: [LockMachine.Effect], _ state: inout State) {
        for effect in effects {
            switch effect {
            case .arm(let deadline): arm(at: deadline)
            case .disarm:
                disarm()
                if state.machine.state == .unlocked { mount.setDeadline(nil) }
            case .evict: startEviction()
            case .announce: announce(&state)
            case .admit, .awaitEviction: break
            }
        }
    }

    private func announce(_ state: inout State) {
        log.info("state: \(state.machine.state)")
        state.sequence += 1
        state.changed = MountFacts.wallClock
        feed.publish(StatusChange(StatusChange.Event(state.machine.state), status(of: state)))
    }

    private func arm(at deadline: Duration) {
        // The timer wakes a thread, and that after a suspension along with all others.
        mount.setDeadline(deadline)
        do {
            try timer.arm(at: deadline)
        } catch {
            // timerfd_settime(2) fails for bad arguments only; without a timer the keys would stay for ever.
            fatalError("cannot set the timer: \(error)")
        }
    }

    private func startEviction() {
        mount.setDeadline(BootClock.now)
        evictor.wake()
    }

    private func disarm() {
        // A timer that fires all the same finds no deadline in the machine.
        do { try timer.disarm() } catch { log.warning("cannot stop the timer: \(error)") }
    }

    private func evict() {
        let eviction = mount.evict()
        log.info(
            "keys taken out of memory",
            metadata: [
                "took": "\(eviction.duration)", "inodes": "\(eviction.inodes)", "passes": "\(eviction.passes)",
            ])
        handle(.evicted)
    }

    private func status(of state: State) -> Status {
        let moment = LockMoment(
            state: Status.State(state.machine.state),
            graceRemaining: state.machine.graceRemaining(at: BootClock.now),
            lastLockDuration: state.machine.lastLockDuration, instance: instance, sequence: state.sequence,
            changed: state.changed, isDetached: state.isDetached)
        return facts.status(moment, of: mount)
    }
}

extension StatusChange.Event {
    /// What it means to who watches that this state has been entered; nothing of the first.
    fileprivate init?(_ state: LockMachine.State) {
        switch state {
        case .beforeFirstUnlock: return nil
        case .unlocked: self = .didBecomeAvailable
        case .locking, .evicting: self = .willBecomeUnavailable
        case .locked: self = .didBecomeUnavailable
        }
    }
}

extension Status.State {
    init(_ state: LockMachine.State) {
        self =
            switch state {
            case .beforeFirstUnlock: .beforeFirstUnlock
            case .unlocked: .unlocked
            case .locking, .evicting: .locking
            case .locked: .locked
            }
    }
}
