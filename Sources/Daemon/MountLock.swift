import Control
import Glibc
import Logging
import Posix
import Synchronization

/// The lock of one mount: the machine, its timer, the thread that takes the keys out, and those who watch.
///
/// Every event is handled whole under one mutex, effects included, so that keys are never admitted behind the back of a
/// lock. Only the eviction runs outside, in a thread of its own. The mutex is the outermost lock of the process: the
/// mount's own are taken under it, and the mount never calls back.
public final class MountLock: Sendable {
    private let machine: Mutex<LockMachine>
    private let mount: any MountedFileSystem
    private let facts: MountFacts
    private let timer: BootTimer
    private let evictions: Pipe
    private let feed = StatusFeed()
    private let log: Logger

    public init(mount: any MountedFileSystem, facts: MountFacts, log: Logger) throws(Errno) {
        machine = Mutex(LockMachine(grace: facts.grace))
        self.mount = mount
        self.facts = facts
        self.log = log
        timer = try BootTimer()
        evictions = try Pipe()
        // Made now, not at a lock: then it might fail.
        let requests = evictions.readEnd
        try startThread { [weak self] in
            while requests.readByte() { self?.evict() }
        }
    }

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

    /// How often somebody has asked for a lock so far: what an unlock begins with.
    public var locks: UInt64 { machine.withLock { $0.locks } }

    /// Opens all classes with keys that were just proven; after the end of an eviction, if one runs.
    ///
    /// - Parameter locks: what `locks` was when somebody asked for this. Whoever has locked since must not find it
    ///   undone.
    public func unlock(with keys: any ProvenKeys, since locks: UInt64) throws(ControlError) -> Status {
        while true {
            let opened = try machine.withLock { machine throws(ControlError) -> Status? in
                guard machine.locks == locks else { throw .failed(reason: "it was locked meanwhile: unlock again") }
                var next = machine
                let effects = next.handle(.unlock, at: BootClock.now)
                if effects.contains(.awaitEviction) { return nil }
                if effects.contains(.admit) { try keys.admit() }
                machine = next
                carryOut(effects, machine)
                return status(of: machine)
            }
            if let opened { return opened }
            _ = try subscribe().first { isEvicting() ? nil : $0 }
        }
    }

    public var status: Status {
        machine.withLock { status(of: $0) }
    }

    /// The present status, and each change of state after it.
    public func subscribe() throws(ControlError) -> StatusSubscription {
        try machine.withLock { machine throws(ControlError) in
            try feed.subscribe(startingWith: status(of: machine))
        }
    }

    @discardableResult
    private func handle(_ event: LockMachine.Event) -> Status {
        machine.withLock { machine in
            carryOut(machine.handle(event, at: BootClock.now), machine)
            return status(of: machine)
        }
    }

    private func isEvicting() -> Bool {
        machine.withLock { $0.state == .evicting }
    }

    /// Runs under the mutex. `admit` and `awaitEviction` are the unlock's own business.
    private func carryOut(_ effects: [LockMachine.Effect], _ machine: LockMachine) {
        for effect in effects {
            switch effect {
            case .arm(let deadline): arm(at: deadline)
            case .disarm: disarm()
            case .evict: startEviction()
            case .announce:
                log.info("state: \(machine.state)")
                feed.publish(status(of: machine))
            case .admit, .awaitEviction: break
            }
        }
    }

    private func arm(at deadline: Duration) {
        do {
            try timer.arm(at: deadline)
        } catch {
            // timerfd_settime(2) fails for bad arguments only; without a timer the keys would stay for ever.
            fatalError("cannot set the timer: \(error)")
        }
    }

    private func startEviction() {
        do {
            try evictions.writeEnd.writeByte()
        } catch {
            // At most one eviction is asked for at a time: the pipe is never full, and its reader never gone.
            fatalError("cannot start the eviction: \(error)")
        }
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

    private func status(of machine: LockMachine) -> Status {
        facts.status(
            state: Status.State(machine.state), graceRemaining: machine.graceRemaining(at: BootClock.now), of: mount)
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
