public import Posix

/// The boot clock, and the threads of this process.
public final class SystemSurroundings: Surroundings {
    private struct State {
        var wakes: UInt64 = 0
        var hasEnded = false
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Monitor(State())

    public init() {}

    public var now: Duration { BootClock.now }

    public func pause(for time: Duration) throws(Errno) {
        let end = MonotonicClock.now + time
        let hasEnded: Void? = state.wait(atMost: { end - MonotonicClock.now }) { $0.hasEnded ? () : nil }
        if hasEnded != nil { throw .ENOTCONN }
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
