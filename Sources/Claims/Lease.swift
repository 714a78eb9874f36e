import Posix
import Store
import Synchronization

/// How long this process may still change the vault without a look at its claim.
final class Lease: Fence {
    /// Nanoseconds of the boot clock; 0 before the first look, and when the claim is lost.
    private let end = Atomic<Int64>(0)
    private let lost = Atomic(false)
    private let patience: Duration
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let waiting = Monitor(0)
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
        let deadline = BootClock.now + patience
        while !isValid {
            if isLost { throw .ESTALE }
            let left = deadline - BootClock.now
            guard left > .zero else { throw .EIO }
            wake.signal()
            waiting.wait(atMost: left) { _ in self.isValid || self.isLost ? true : nil }
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
