import Posix
import Store
import Synchronization

/// How long this process may still change the vault without a look at its claim.
final class Lease: Fence {
    /// Nanoseconds of the boot clock; 0 before the first look, and when the claim is lost.
    private let end = Atomic<Int64>(0)
    private let lost = Atomic(false)
    /// Nil on a store whose calls may wait as long as it takes: a wait for the claim is one of them.
    private let patience: Duration?
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let waiting = Monitor(0)
    /// Makes the keeper look at once.
    private let wake: Wakeup

    init(patience: Duration?) throws(Errno) {
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
        let start = MonotonicClock.now
        while !isValid {
            // Not ESTALE: the kernel would look the name up again, and a program would be told that it is gone.
            if isLost { throw .EIO }
            wake.signal()
            let isDecided: Void? = waiting.wait(atMost: { patience.map { start + $0 - MonotonicClock.now } }) { _ in
                self.isValid || self.isLost ? () : nil
            }
            // The change is not made: as if the store had not answered to it.
            guard isDecided != nil else { throw .notAnswered }
        }
    }

    /// The claim was seen to hold, by a look that began before `end` minus the lease.
    func extend(until end: Duration) {
        guard !isLost else { return }
        self.end.store(end.nanoseconds, ordering: .releasing)
        waiting.withLock { _ in }
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
