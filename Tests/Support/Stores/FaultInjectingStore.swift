public import Posix
public import Store
import Synchronization

/// A store whose calls fail as a test has planned.
public typealias FaultInjectingStore = InterceptingStore<FaultPlan>

extension InterceptingStore where Hook == FaultPlan {
    /// Nothing fails until the test plans it, through `faults`.
    public convenience init(_ base: any Store) {
        self.init(base, hook: FaultPlan())
    }

    public var faults: FaultPlan { hook }
}

/// Which calls to a `FaultInjectingStore` fail. Safe to change at any time, from any thread.
public final class FaultPlan: Interceptor {
    /// How much of the operation happens before it fails.
    public enum Effect: Sendable {
        case none
        /// Half of a write, nothing of any other call.
        case half
        case whole
    }

    /// The calls that a fault applies to.
    public enum Calls: Sendable {
        case kinds(Set<Operation.Kind>)
        /// All that may change the store or make changes durable; O_CREAT and O_TRUNC included.
        case changes
        /// Those that a full disk or a quota refuses.
        case growth
        case all

        func contains(_ operation: Operation) -> Bool {
            switch self {
            case .kinds(let kinds): kinds.contains(operation.kind)
            case .changes: operation.isChange
            case .growth: operation.takesSpace
            case .all: true
            }
        }
    }

    private struct Fault {
        var calls: Calls
        /// How many of them to let pass first.
        var passing: Int
        let error: Errno
        let effect: Effect
        /// Those that fail from then on.
        let later: Calls?
    }

    private struct State {
        var faults: [Fault] = []
        var counts: [Operation.Kind: Int] = [:]
        var failed: [Operation.Kind] = []
    }

    private let state = Mutex(State())

    /// Fails the `nth` operation of one of the kinds from now on, counted from 1; nil counts every change, O_CREAT and
    /// O_TRUNC included. With `lasts` all that follow fail too, as on a full disk.
    public func fail(
        _ kinds: Set<Operation.Kind>?, nth: Int = 1, with error: Errno, effect: Effect = .none,
        lasts: Bool = false
    ) {
        let calls = kinds.map(Calls.kinds) ?? .changes
        fail(calls, nth: nth, with: error, effect: effect, then: lasts ? calls : nil)
    }

    /// Fails the `nth` of some calls from now on, counted from 1, and all of `later` that follow.
    public func fail(
        _ calls: Calls, nth: Int, with error: Errno, effect: Effect = .none, then later: Calls? = nil
    ) {
        precondition(nth >= 1, "calls are counted from 1")
        let fault = Fault(calls: calls, passing: nth - 1, error: error, effect: effect, later: later)
        state.withLock { $0.faults.append(fault) }
    }

    /// Fails the `nth` operation of a kind from now on, counted from 1.
    public func fail(
        _ kind: Operation.Kind, nth: Int = 1, with error: Errno, effect: Effect = .none, lasts: Bool = false
    ) {
        fail([kind], nth: nth, with: error, effect: effect, lasts: lasts)
    }

    /// Ends all faults.
    public func clear() {
        state.withLock { $0.faults = [] }
    }

    /// The number of operations that have failed by this plan.
    public var injected: Int { state.withLock { $0.failed.count } }

    /// The failed operations, in order.
    public var failed: [Operation.Kind] { state.withLock { $0.failed } }

    /// The number of operations of a kind that were asked for, failed ones included.
    public func count(of kind: Operation.Kind) -> Int {
        state.withLock { $0.counts[kind] ?? 0 }
    }

    public func intercept<Result>(
        _ operation: Operation, on store: any Store, _ proceed: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard let fault = due(for: operation) else { return try proceed() }
        switch fault.effect {
        case .none: break
        case .half:
            if case .change(.write(let bytes, let file, let offset)) = operation {
                try store.apply(.write(Array(bytes.prefix(bytes.count / 2)), to: file, at: offset))
            }
        case .whole: _ = try proceed()
        }
        throw fault.error
    }

    /// Counts the operation, and returns the fault that applies to it, if any.
    private func due(for operation: Operation) -> Fault? {
        state.withLock { state in
            state.counts[operation.kind, default: 0] += 1
            var due: Fault?
            state.faults = state.faults.compactMap { fault in
                guard fault.calls.contains(operation) else { return fault }
                var fault = fault
                fault.passing -= 1
                guard fault.passing < 0 else { return fault }
                due = due ?? fault
                guard let later = fault.later else { return nil }
                fault.calls = later
                return fault
            }
            if due != nil { state.failed.append(operation.kind) }
            return due
        }
    }
}
