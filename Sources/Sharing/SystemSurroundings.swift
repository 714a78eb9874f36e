public import Posix

/// The boot clock, and the threads of this process.
public final class SystemSurroundings: Surroundings {
    private struct Wakes {
        var count: UInt64 = 0
        var hasEnded = false
    }
    private struct Pauses {
        var hasEnded = false
        var hurries = 0
        /// Of the monotonic clock.
        var hurrySince = Duration.zero
    }

    /// In a hurry, what waits for another machine gives up after this time.
    private static let patienceInHurry = Duration.seconds(2)

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let wakes = Monitor(Wakes())
    /// The same. Of its own: who pauses is not to be woken for each request that ends.
    private let pauses = Monitor(Pauses())

    public init() {}

    public var now: Duration { BootClock.now }

    public func pause(for time: Duration) throws(Errno) {
        let end = MonotonicClock.now + time
        let failure = pauses.wait(atMost: { end - MonotonicClock.now }) { pauses -> Errno? in
            if pauses.hasEnded { return .ENOTCONN }
            let isLate = pauses.hurries > 0 && MonotonicClock.now > pauses.hurrySince + Self.patienceInHurry
            return isLate ? .ETIMEDOUT : nil
        }
        if let failure { throw failure }
    }

    /// From the first call on until the last one with false, what waits for another machine gives up soon: a lock waits
    /// for it. Calls are counted. Does not block.
    public func hurry(_ isOn: Bool) {
        pauses.withLock { pauses in
            if isOn, pauses.hurries == 0 { pauses.hurrySince = MonotonicClock.now }
            pauses.hurries += isOn ? 1 : -1
        }
        pauses.wakeAll()
    }

    public func wait(until condition: () -> Bool) throws(Errno) {
        while true {
            // Read before the condition, so that no wakeup is missed.
            let count = wakes.withLock { $0.count }
            if condition() { return }
            let hasEnded = wakes.wait { $0.hasEnded ? true : $0.count != count ? false : nil }
            if hasEnded { throw .ENOTCONN }
        }
    }

    public func wakeAll() {
        wakes.withLock { $0.count &+= 1 }
        wakes.wakeAll()
    }

    /// From now on nothing waits: all that do throw ENOTCONN.
    public func end() {
        wakes.withLock { $0.hasEnded = true }
        wakes.wakeAll()
        pauses.withLock { $0.hasEnded = true }
        pauses.wakeAll()
    }
}
