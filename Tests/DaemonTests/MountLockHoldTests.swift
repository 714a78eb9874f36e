import Failure
import Posix
import Synchronization
import Testing

@testable import Control
@testable import Daemon

/// What the owner of the lock machine does for a hold: the mount's deadline, the clients, the status.
@Suite(.timeLimit(.minutes(10))) struct MountLockHoldTests {
    let mount = TestMount()
    let keys: TestKeys

    init() { keys = TestKeys(mount: mount) }

    private func lock(grace: Duration = .seconds(10), longestHold: Duration = .seconds(60)) throws -> MountLock {
        let lock = try MountLock(
            mount: mount, facts: .test(grace: grace, longestHold: longestHold), log: .silent)
        _ = try lock.unlock(with: keys, since: lock.locks)
        return lock
    }

    private func wanted(_ seconds: Double, _ command: String? = "restic") -> Hold {
        Hold(pid: 7, uid: 8, command: command, because: "why", seconds: seconds)
    }

    /// Seconds from now until the mount refuses contents.
    private var closing: Double? {
        mount.state.withLock { $0.deadline }.map { ($0 - BootClock.now).seconds }
    }

    private func wait(_ lock: MountLock, for state: Status.State) throws {
        _ = try lock.subscribe().first(within: 20) { $0.state == state ? true : nil }
    }

    @Test func `the mount closes when the last hold's time is over, and earlier when that is released`() throws {
        let lock = try lock()
        let (long, short) = (try lock.hold(wanted(50)), try lock.hold(wanted(20)))
        #expect(long.seconds == 50 && closing == nil)
        lock.lock(now: false)
        #expect((59...60).contains(try #require(closing)))
        #expect((59...60).contains(try #require(lock.status.graceRemaining)))
        long.release()
        #expect((29...30).contains(try #require(closing)))
        // In the grace period, and later than what the mount knows.
        let third = try lock.hold(wanted(1e9))
        #expect(third.seconds == 60)
        #expect((69...70).contains(try #require(closing)))
        third.release()
        short.release()
        #expect((9...10).contains(try #require(closing)))
        long.release()
        #expect(lock.status.state == .locking && lock.status.holds == nil)
    }

    @Test func `a lock waits for a hold, and evicts when it is released`() throws {
        let lock = try lock(grace: .zero)
        let hold = try lock.hold(wanted(50))
        #expect(lock.lock(now: false).state == .locking)
        #expect(lock.status.holds == [wanted(50)] && lock.status.longestHold == 60)
        #expect(mount.state.withLock { $0.evictions } == 0)
        hold.release()
        try wait(lock, for: .locked)
        #expect(mount.state.withLock { $0.evictions } == 1 && hold.ending.end == nil)
    }

    @Test func `a hold ends by itself, on time, and its client is told`() throws {
        let lock = try lock(grace: .milliseconds(50))
        try followDeadlines(of: lock)
        let hold = try lock.hold(wanted(0.1))
        lock.lock(now: false)
        try wait(lock, for: .locked)
        #expect(hold.ending.end == .timeOver)
        #expect(try Poll.readable([hold.ending.wakeup.readable], timeout: .zero) == [0])
        hold.release()
        #expect(lock.status.state == .locked)
    }

    @Test func `every change of a hold is told, in order`() throws {
        let lock = try lock(grace: .zero)
        let position = MonitorPosition(
            instance: try #require(lock.status.instance), sequence: try #require(lock.status.sequence))
        let hold = try lock.hold(wanted(50))
        lock.lock(now: false)
        hold.release()
        try wait(lock, for: .locked)
        let events = try #require(lock.subscribe(after: position).take())
        #expect(
            events.map(\.event) == [
                .didBeginHold, .willBecomeUnavailable, .didBecomeHeld, .didEndHold, .didBecomeUnavailable,
            ])
        #expect(events.map(\.status.holds?.count) == [1, 1, 1, nil, nil])
        #expect(events.map(\.status.sequence) == (2...6).map { $0 })
    }

    private enum End: CaseIterable { case lockNow, unmount, detach, signal }

    @Test(arguments: End.allCases) private func `no hold delays a lock at once, and no end of the mount`(
        _ end: End
    ) throws {
        let lock = try lock(grace: .zero)
        let hold = try lock.hold(wanted(50))
        lock.lock(now: false)
        switch end {
        case .lockNow: lock.lock(now: true)
        case .unmount: lock.lockAndWait(seconds: 5)
        case .detach: lock.noteDetached()
        case .signal: lock.lockToEnd()
        }
        try wait(lock, for: .locked)
        #expect(hold.ending.end == (end == .lockNow || end == .unmount ? .locked : .detached))
        _ = try lock.unlock(with: keys, since: lock.locks)
        if end == .detach || end == .signal {
            #expect(throws: Failure.mountLocked) { try lock.hold(wanted(50)) }
        } else {
            _ = try lock.hold(wanted(50))
        }
    }

    /// SIGTERM while a program uses the mount: nothing holds its lock any more, also if the kernel has not told yet
    /// that it left the tree. If it cannot leave the tree, it goes on as before.
    @Test(arguments: [false, true]) func `nothing holds the lock of a mount that is to end`(_ isStuck: Bool) throws {
        mount.state.withLock { $0.isStuck = isStuck }
        let lock = try lock()
        let hold = try lock.hold(wanted(50))
        let thread = SignalThread(
            signals: try SignalDescriptor(blocking: []), unmounter: try OnDemandWorker(), ender: try OnDemandWorker(),
            lock: lock, mount: mount, log: .silent, exit: {})
        thread.unmount()
        #expect(mount.state.withLock { $0.unmounts } == [false, true])
        #expect(hold.ending.end == .detached && lock.status.state == .locking)
        #expect((9...10).contains(try #require(closing)))
        if isStuck {
            _ = try lock.hold(wanted(50))
            #expect((59...60).contains(try #require(closing)))
        } else {
            #expect(throws: Failure.mountLocked) { try lock.hold(wanted(50)) }
            #expect((9...10).contains(try #require(closing)))
        }
    }

    /// What `status` lists, a lock waits for.
    @Test func `a hold that is no time, or whose time is over, is not listed`() throws {
        let lock = try lock(grace: .zero)
        for seconds in [0, 1e-19, -1] {
            #expect(throws: Failure.invalidParameter(parameter: "seconds")) { try lock.hold(wanted(seconds)) }
        }
        #expect(lock.status.holds == nil)
        let long = try lock.hold(wanted(50))
        lock.lock(now: false)
        let sequence = lock.status.sequence
        // The shortest of durations.
        let short = try lock.hold(wanted(1e-18))
        #expect(short.ending.end == .timeOver)
        #expect(lock.status.holds == [wanted(50)] && lock.status.sequence == sequence)
        short.release()
        #expect(lock.status.holds == [wanted(50)] && lock.status.sequence == sequence)
        long.release()
        try wait(lock, for: .locked)
    }

    @Test func `what is refused, and why`() throws {
        let forbidding = try MountLock(
            mount: mount, facts: .test(grace: .zero, noHolds: "the rule"), log: .silent)
        _ = try forbidding.unlock(with: keys, since: 0)
        #expect(throws: Failure.forbidden(reason: "the rule")) { try forbidding.hold(wanted(1)) }
        let lock = try lock()
        lock.lock(now: true)
        try wait(lock, for: .locked)
        #expect(throws: Failure.mountLocked) { try lock.hold(wanted(1)) }
        #expect(lock.status.holds == nil)
        _ = try lock.unlock(with: keys, since: lock.locks)
    }

    /// Its events would push out others, and so would lines of the log.
    @Test func `a flood of holds is refused, also of those that end at once`() throws {
        let lock = try lock()
        var granted = 0
        for _ in 0..<500 {
            guard let hold = try? lock.hold(wanted(1)) else { continue }
            hold.release()
            granted += 1
        }
        #expect((HoldRate.burst...HoldRate.burst + 20).contains(granted))
        #expect(throws: Failure.tooManyHolds) { for _ in 0..<500 { _ = try lock.hold(wanted(1)) } }
    }

    @Test func `a burst of holds, then one a second`() {
        var rate = HoldRate()
        let start = Duration.seconds(100)
        func taken(at now: Duration) -> Int { (0..<100).prefix { _ in rate.take(at: now) }.count }
        #expect(taken(at: start) == 32)
        #expect(taken(at: start + .milliseconds(999)) == 0)
        #expect(taken(at: start + .seconds(1)) == 1)
        #expect(taken(at: start + .seconds(6)) == 5)
        #expect(taken(at: start + .seconds(5000)) == 32)
    }

    @Test func `holds that end together are one change`() throws {
        let lock = try lock()
        _ = try (0..<30).map { _ in try lock.hold(wanted(1)) }
        let position = MonitorPosition(
            instance: try #require(lock.status.instance), sequence: try #require(lock.status.sequence))
        lock.lock(now: true)
        try wait(lock, for: .locked)
        let events = try #require(lock.subscribe(after: position).take())
        #expect(events.map(\.event) == [.didEndHold, .willBecomeUnavailable, .didBecomeUnavailable])
        #expect(events.first?.status.holds == nil)
    }
}
