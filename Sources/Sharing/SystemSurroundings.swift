public import Posix

/// The boot clock, and the threads of this process.
public final class SystemSurroundings: Surroundings {
    private struct State {
        var wakes: UInt64 = 0
        var hasEnded = false
        var hurries = 0
        /// Of the monotonic clock.
        var hurrySince = Duration.zero
    }

    /// In a hurry, what waits for another machine gives up after this time.
    private static let patienceInHurry = Duration.seconds(2)

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Monitor(State())

    public init() {}

    public var now: Duration { BootClock.now }

    public func pause(for time: Duration) throws(Errno) {
        let end = MonotonicClock.now + time
        let failure = state.wait(atMost: { end - MonotonicClock.now }) { state -> Errno? in
            if state.hasEnded { return .ENOTCONN }
            let isLate = state.hurries > 0 && MonotonicClock.now > state.hurrySince + Self.patienceInHurry
            return isLate ? .ETIMEDOUT : nil
        }
        if let failure { throw failure }
    }

    /// From the first call on until the last one with false, what waits for another machine gives up soon: a lock waits
    /// for it. Calls are counted. Does not block.
    public func hurry(_ isOn: Bool) {
        state.withLock { state in
            if isOn, state.hurries == 0 { state.hurrySince = MonotonicClock.now }
            state.hurries += isOn ? 1 : -1
        }
        state.wakeAll()
    }

    public func wait(until condition: () -> Bool) throws(Errno) {
        while true {
            // Read before the condition, so that no wakeup is missed.
            let wakes = state.withLock { $0.wakes }
            if condition() { return }
            let hasEnded = state.wait { $0.hasEnded ? true : $0.wakes != wakes ? false : nil }
            if hasEnded { throw .ENOTCONN }
        }
    }

    public func wakeAll() {
        state.withLock { $0.wakes &+= 1 }
        state.wakeAll()
    }

    /// From now on nothing waits: all that do throw ENOTCONN.
    public func end() {
        state.withLock { $0.hasEnded = true }
        state.wakeAll()
    }
}
