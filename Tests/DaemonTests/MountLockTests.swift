import Failure
import Posix
import Synchronization
import Testing

@testable import Control
@testable import Daemon

@Suite(.timeLimit(.minutes(10))) struct MountLockTests {
    let mount = TestMount()
    let keys: TestKeys

    init() {
        keys = TestKeys(mount: mount)
    }

    private func lock(grace: Duration = .seconds(10), forgetAfter: Duration? = nil) throws -> MountLock {
        try MountLock(mount: mount, facts: .test(grace: grace, forgetAfter: forgetAfter), log: .silent)
    }

    private func wait(_ lock: MountLock, for state: Status.State) throws {
        _ = try lock.subscribe().first { $0.state == state ? true : nil }
    }

    @Test func `class keys follow the state`() throws {
        let lock = try lock()
        #expect(lock.status.state == .beforeFirstUnlock)
        #expect(lock.status.classKeys == ["none"])
        #expect(lock.lock(now: true).state == .beforeFirstUnlock)

        #expect(try lock.unlock(with: keys, since: lock.locks).classKeys.count == 4)
        let locking = lock.lock(now: false)
        #expect(locking.state == .locking)
        #expect(locking.classKeys.count == 4)
        #expect((9.9...10).contains(try #require(locking.graceRemaining)))

        lock.lock(now: true)
        try wait(lock, for: .locked)
        #expect(lock.status.classKeys == ["complete-until-first-user-authentication", "none"])
        #expect(lock.status.graceRemaining == nil)
        #expect(try lock.unlock(with: keys, since: lock.locks).state == .unlocked)
        #expect(mount.state.withLock { $0.evictions } == 1)
    }

    @Test func `a deep lock ends before the first unlock, and clients hear of it`() throws {
        let lock = try lock()
        _ = try lock.unlock(with: keys, since: lock.locks)
        let position = MonitorPosition(
            instance: try #require(lock.status.instance), sequence: try #require(lock.status.sequence))
        let locking = lock.lock(now: false, .deep)
        #expect(locking.state == .locking && locking.deep == true && locking.classKeys.count == 4)
        #expect(mount.state.withLock { $0.depths } == [.deep])
        lock.lock(now: true)
        try wait(lock, for: .beforeFirstUnlock)
        #expect(lock.status.classKeys == ["none"] && lock.status.deep == true)
        #expect(lock.status.lastLockDuration != nil && lock.status.graceRemaining == nil)
        let events = try #require(lock.subscribe(after: position).take())
        #expect(
            events.map(\.event) == [.willBecomeUnavailable, .willBecomeUnavailable, .didBecomeUnavailable])
        let unlocked = try lock.unlock(with: keys, since: lock.locks)
        #expect(unlocked.state == .unlocked && unlocked.deep == nil && unlocked.classKeys.count == 4)
    }

    @Test func `a locked mount is locked deeply, and an eviction under way is followed by a deep one`() throws {
        let lock = try lock()
        _ = try lock.unlock(with: keys, since: lock.locks)
        lock.lock(now: true)
        try wait(lock, for: .locked)
        #expect(lock.status.deep == nil)
        #expect(lock.lock(now: false, .deep).state == .locking)
        try wait(lock, for: .beforeFirstUnlock)
        #expect(mount.state.withLock { $0.evictions } == 2)

        _ = try lock.unlock(with: keys, since: lock.locks)
        mount.evictionGate.withLock { _ in
            #expect(lock.lock(now: true).deep == nil)
            #expect(lock.lock(now: false, .deep).deep == true)
        }
        try wait(lock, for: .beforeFirstUnlock)
        #expect(mount.state.withLock { !$0.firstUnlocked && !$0.strictKeys })
    }

    @Test func `a locked mount forgets class C by itself`() throws {
        let lock = try lock(forgetAfter: .milliseconds(200))
        try followDeadlines(of: lock)
        _ = try lock.unlock(with: keys, since: lock.locks)
        #expect(lock.status.forgetAfter == 0.2 && lock.status.forgetTime == nil)
        lock.lock(now: true)
        try wait(lock, for: .beforeFirstUnlock)
        #expect(lock.status.classKeys == ["none"])
        #expect(lock.status.forgetTime == nil)
    }

    /// The mount refuses class C from that time on by itself, also if the machine sleeps past it.
    @Test func `the mount knows when it forgets`() throws {
        let lock = try lock(forgetAfter: .seconds(3600))
        _ = try lock.unlock(with: keys, since: lock.locks)
        let before = BootClock.now
        lock.lock(now: true)
        try wait(lock, for: .locked)
        let deadline = try #require(mount.state.withLock { $0.deadline })
        #expect((before + .seconds(3600)...BootClock.now + .seconds(3600)).contains(deadline))
        #expect(mount.state.withLock { $0.depths } == [.strict, .deep])
        let left = try #require(lock.status.forgetTime) - MountFacts.wallClock
        #expect((3500...3600).contains(left))
        #expect(try lock.unlock(with: keys, since: lock.locks).forgetTime == nil)
    }

    @Test func `the grace ends by itself, on time`() throws {
        let lock = try lock(grace: .milliseconds(300))
        try followDeadlines(of: lock)
        _ = try lock.unlock(with: keys, since: lock.locks)
        let start = BootClock.now
        lock.lock(now: false)
        try wait(lock, for: .locked)
        #expect((.milliseconds(300)...(.milliseconds(1500))).contains(BootClock.now - start))
    }

    /// From the deadline on the mount refuses by itself: the thread that evicts the keys may run late.
    @Test func `the mount knows the deadline`() throws {
        let lock = try lock()
        _ = try lock.unlock(with: keys, since: lock.locks)
        #expect(mount.state.withLock { $0.deadline } == nil)
        let before = BootClock.now
        lock.lock(now: false)
        let deadline = try #require(mount.state.withLock { $0.deadline })
        #expect((before + .seconds(10)...BootClock.now + .seconds(10)).contains(deadline))
        _ = try lock.unlock(with: keys, since: lock.locks)
        #expect(mount.state.withLock { $0.deadline } == nil)
        lock.lock(now: false)
        lock.lock(now: true)
        #expect(try #require(mount.state.withLock { $0.deadline }) <= BootClock.now)
        #expect(mount.state.withLock { $0.deadlines } == [true, false, true, true], "never taken back by a lock")
        try wait(lock, for: .locked)
    }

    @Test func `a deadline is over once it has been handled`() throws {
        let lock = try lock(grace: .milliseconds(10))
        _ = try lock.unlock(with: keys, since: lock.locks)
        lock.lock(now: false)
        #expect(try Poll.readable([lock.deadline]) == [0])
        lock.deadlinePassed()
        #expect(try Poll.readable([lock.deadline], timeout: .zero) == [])
        try wait(lock, for: .locked)
    }

    @Test func `an unlock does not undo a lock that came after it`() throws {
        let refused = Failure.lockedMeanwhile
        let lock = try lock()
        let before = lock.locks
        lock.lock(now: true)
        #expect(throws: refused) { try lock.unlock(with: keys, since: before) }
        #expect(lock.status.state == .beforeFirstUnlock)
        _ = try lock.unlock(with: keys, since: lock.locks)
        let unlocked = lock.locks
        lock.lock(now: false)
        #expect(throws: refused) { try lock.unlock(with: keys, since: unlocked) }
        #expect(lock.status.state == .locking)

        let proven = keys
        let ended = try Pipe()
        try mount.evictionGate.withLock { _ in
            lock.lock(now: true)
            let evicting = lock.locks
            try startThread {
                _ = try? lock.unlock(with: proven, since: evicting)
                let done: [UInt8] = [1]
                try? unsafe ended.writeEnd.write(done.span.bytes)
            }
            lock.lock(now: true)
        }
        _ = try Poll.readable([ended.readEnd])
        try wait(lock, for: .locked)
        #expect(mount.state.withLock { !$0.strictKeys })
    }

    @Test func `unlocking in the grace cancels it`() throws {
        let lock = try lock(grace: .milliseconds(100))
        try followDeadlines(of: lock)
        _ = try lock.unlock(with: keys, since: lock.locks)
        lock.lock(now: false)
        #expect(try lock.unlock(with: keys, since: lock.locks).state == .unlocked)
        #expect(try Poll.readable([lock.deadline], timeout: .milliseconds(300)) == [])
        #expect(lock.status.state == .unlocked)
        #expect(mount.state.withLock { $0.evictions } == 0)
    }

    @Test func `unlocking waits for the end of an eviction`() throws {
        let lock = try lock()
        _ = try lock.unlock(with: keys, since: lock.locks)
        let keys = keys
        let unlocked = try Pipe()
        try mount.evictionGate.withLock { _ in
            #expect(lock.lock(now: true).state == .locking)
            try startThread {
                _ = try? lock.unlock(with: keys, since: lock.locks)
                let done: [UInt8] = [1]
                try? unsafe unlocked.writeEnd.write(done.span.bytes)
            }
            #expect(try Poll.readable([unlocked.readEnd], timeout: .milliseconds(200)) == [])
            #expect(lock.status.state == .locking)
            #expect(lock.status.graceRemaining == 0)
        }
        _ = try Poll.readable([unlocked.readEnd])
        #expect(lock.status.state == .unlocked)
        #expect(lock.status.classKeys.count == 4)
        #expect(mount.state.withLock { $0.evictions } == 1)
    }

    @Test func `keys that cannot be admitted leave the mount locked`() throws {
        let lock = try lock()
        #expect(throws: Failure.failed(reason: "no memory")) {
            try lock.unlock(with: TestKeys(mount: mount, fails: true), since: lock.locks)
        }
        #expect(lock.status.state == .beforeFirstUnlock)
    }

    @Test func `changes are numbered, and say what has become of the contents`() throws {
        let lock = try lock()
        let first = lock.status
        #expect(first.sequence == 0)
        #expect(first.instance?.count == 32)
        #expect(first.lastLockDuration == nil)
        _ = try lock.unlock(with: keys, since: lock.locks)
        lock.lock(now: false)
        lock.lock(now: false)
        lock.lock(now: true)
        try wait(lock, for: .locked)
        #expect(lock.status.sequence == 4)
        #expect(try #require(lock.status.changed) >= #require(first.changed))
        #expect(try #require(lock.status.lastLockDuration) >= 0)

        let position = MonitorPosition(instance: try #require(first.instance), sequence: 0)
        let events = try #require(lock.subscribe(after: position).take())
        #expect(
            events.map(\.event) == [
                .didBecomeAvailable, .willBecomeUnavailable, .willBecomeUnavailable, .didBecomeUnavailable,
            ])
        #expect(events.map(\.status.sequence) == [1, 2, 3, 4])
        // The second deadline is the earlier one.
        let deadlines = events.compactMap(\.status.deadline)
        #expect(deadlines.count == 2)
        #expect(deadlines[0] > deadlines[1])
    }

    @Test func `the end of a grace is no change: it was announced`() throws {
        let lock = try lock(grace: .milliseconds(10))
        try followDeadlines(of: lock)
        _ = try lock.unlock(with: keys, since: lock.locks)
        lock.lock(now: false)
        try wait(lock, for: .locked)
        #expect(lock.status.sequence == 3)
    }

    @Test func `no two daemons are the same`() throws {
        #expect(try lock().status.instance != lock().status.instance)
    }

    @Test func `every change is told, in order`() throws {
        let lock = try lock()
        let subscription = try lock.subscribe()
        _ = try lock.unlock(with: keys, since: lock.locks)
        lock.lock(now: false)
        _ = try lock.unlock(with: keys, since: lock.locks)
        lock.lock(now: true)
        let seen = Mutex<[Status.State]>([])
        _ = try subscription.first { status in
            seen.withLock { $0.append(status.state) }
            return status.state == .locked ? true : nil
        }
        #expect(
            seen.withLock { $0 } == [.beforeFirstUnlock, .unlocked, .locking, .unlocked, .locking, .locked])
    }
}
