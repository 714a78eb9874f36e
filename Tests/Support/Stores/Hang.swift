public import Posix
public import Store

/// A hook under which calls of some kinds hang until the test lets them go on. Safe to change at any time.
public final class Hang: Interceptor {
    private struct State {
        var kinds: Set<Operation.Kind> = []
        var waiting = 0
        /// What the calls that have hung fail with.
        var error: Errno?
    }

    private let state = Monitor(State())

    public init() {}

    /// Calls of these kinds hang from now on, before they have any effect.
    public func stop(_ kinds: Operation.Kind...) { state.withLock { $0.kinds = Set(kinds) } }

    /// - Parameter error: what the calls that hang fail with; nil if they are carried out.
    public func go(failing error: Errno? = nil) {
        state.withLock { state in
            state.kinds = []
            state.error = error
        }
        state.wakeAll()
    }

    /// Returns when so many calls hang.
    public func untilWaiting(_ count: Int) { state.wait { $0.waiting >= count ? () : nil } }

    public func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let hangs = state.withLock { state in
            guard state.kinds.contains(operation.kind) else { return false }
            state.waiting += 1
            return true
        }
        if hangs {
            state.wakeAll()
            let error = state.wait { state -> Errno?? in
                guard state.kinds.isEmpty else { return nil }
                state.waiting -= 1
                return .some(state.error)
            }
            if let error { throw error }
        }
        return try proceed()
    }
}
