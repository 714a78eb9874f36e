public import Posix
import Synchronization

/// The threads of a machine that works with others: one looks at this machine's record, the other gives up leases that
/// other machines wait for.
///
/// Two threads: bringing an object into place may wait for the store, and the term must not end meanwhile.
public final class LeaseKeeper: Sendable {
    private let leases: Leases
    private let mostLeases: Int
    private let end: Wakeup
    private let isEnding = Atomic(false)
    private let looking = Worker()
    private let answering = Worker()
    private let failed: @Sendable (Errno) -> Void
    private let lost: @Sendable () -> Void

    /// - Parameters:
    ///   - mostLeases: how many leases this machine keeps that no request uses.
    ///   - failed: called when leases cannot be given up, once until that succeeds.
    ///   - lost: called once, when another machine has taken over.
    public init(
        _ leases: Leases, mostLeases: Int, failed: @escaping @Sendable (Errno) -> Void,
        lost: @escaping @Sendable () -> Void
    ) throws(Errno) {
        self.leases = leases
        self.mostLeases = mostLeases
        self.failed = failed
        self.lost = lost
        end = try Wakeup()
    }

    /// - Throws: why a thread cannot be made.
    public func start() throws(Errno) {
        try looking.start { [self] in look() }
        try answering.start { [self] in answer() }
    }

    /// Ends the threads and waits until they have ended.
    public func stop() {
        isEnding.store(true, ordering: .releasing)
        end.signal()
        looking.join()
        answering.join()
    }

    /// Waits; false at the end.
    private func pause(for time: Duration) -> Bool {
        _ = try? Poll.readable([end.readable], timeout: time)
        return !isEnding.load(ordering: .acquiring)
    }

    private func look() {
        while pause(for: leases.times.interval) {
            // If it fails otherwise, the term ends, and each use looks itself.
            try? leases.look()
            if leases.isLost { return lost() }
        }
    }

    private func pollAfter(_ calm: Duration) -> Duration {
        calm > leases.times.calm ? leases.times.idlePoll : leases.times.poll
    }

    private func answer() {
        var hasFailed = false
        // Each question goes to the store's servers: a machine that sleeps beside others asks less often.
        var lastWish = MonotonicClock.now
        while pause(for: pollAfter(MonotonicClock.now - lastWish)), !leases.isLost {
            do throws(Errno) {
                if try leases.answerWishes() { lastWish = MonotonicClock.now }
                try leases.giveUpEnded()
                try leases.giveUpIdle(keeping: mostLeases)
                hasFailed = false
            } catch {
                if !hasFailed, !isEnding.load(ordering: .acquiring) { failed(error) }
                hasFailed = true
            }
        }
    }
}
