import Posix
import Store
import Synchronization

/// How long this process may still change the vault without a look at its claim.
final class Lease: Fence {
    /// Nanoseconds of the boot clock; 0 before the first look, and when the claim is lost.
    private let end = Atomic<Int64>(0)
    private let lost = Atomic(false)
    /// How long changes wait for a look, from the first one that waits on.
    private let patience: Duration
    private static let patienceInHurry = Duration.seconds(2)

    private struct Waiting {
        /// Of the monotonic clock, which stands still while the machine sleeps: when the first change began to wait;
        /// nil if none has since the last good look.
        var since: Duration?
        var hurries = 0
        var hurrySince: Duration?
    }
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let waiting = Monitor(Waiting())
    /// Makes the keeper look at once.
    private let wake: Wakeup

    init(patience: Duration) throws(Errno) {
        self.patience = patience
        wake = try Wakeup()
    }

    var isLost: Bool { lost.load(ordering: .relaxed) }

    /// Whether a change may be made now.
    private var isValid: Bool { BootClock.now.nanoseconds < end.load(ordering: .acquiring) }

    func check() throws(Errno) {
        if isValid { return }
        try wait()
    }

    /// After a suspension, or while the store does not answer: until the keeper has looked.
    private func wait() throws(Errno) {
        waiting.withLock { $0.since = $0.since ?? MonotonicClock.now }
        while !isValid {
            // Not ESTALE: the kernel would look the name up again, and a program would be told that it is gone.
            if isLost { throw .EIO }
            wake.signal()
            // The limit is asked for between two looks at the value, so it is kept here.
            var end = Duration.zero
            let isDecided: Void? = waiting.wait(atMost: { end - MonotonicClock.now }) { waiting in
                end = self.end(of: waiting)
                return self.isValid || self.isLost ? () : nil
            }
            // The change is not made: as if the store had not answered to it.
            guard isDecided != nil else { throw .notAnswered }
        }
    }

    /// When a change gives up. All that wait give up together, and later ones at once, until a look succeeds.
    private func end(of waiting: Waiting) -> Duration {
        let usual = (waiting.since ?? MonotonicClock.now) + patience
        return waiting.hurrySince.map { min(usual, $0 + Self.patienceInHurry) } ?? usual
    }

    func beginHurry() {
        waiting.withLock { waiting in
            waiting.hurries += 1
            waiting.hurrySince = waiting.hurrySince ?? MonotonicClock.now
        }
        waiting.wakeAll()
    }

    func endHurry() {
        waiting.withLock { waiting in
            waiting.hurries -= 1
            if waiting.hurries == 0 { waiting.hurrySince = nil }
        }
    }

    /// The claim was seen to hold, by a look that began before `end` minus the lease.
    func extend(until end: Duration) {
        guard !isLost else { return }
        self.end.store(end.nanoseconds, ordering: .releasing)
        waiting.withLock { $0.since = nil }
        waiting.wakeAll()
    }

    /// Another process has the vault: for good.
    func lose() {
        lost.store(true, ordering: .sequentiallyConsistent)
        end.store(0, ordering: .sequentiallyConsistent)
        waiting.withLock { _ in }
        waiting.wakeAll()
    }

    /// Waits until a change waits for a look, or `stop`; at most so long.
    func pause(atMost time: Duration) {
        _ = try? Poll.readable([wake.readable], timeout: time)
        wake.clear()
    }

    /// Wakes the thread in `pause`.
    func stop() { wake.signal() }
}
