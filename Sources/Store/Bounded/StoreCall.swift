import Posix

/// What a call does to the store, as far as its order with others counts once its caller has given it up.
enum StoreCallKind {
    /// Changes nothing.
    case look
    /// Changes a file or a folder.
    case change
    /// Makes a file or a folder durable.
    case flush
    /// Makes the whole store durable.
    case flushAll

    var isFlush: Bool { self == .flush || self == .flushAll }
}

/// A call that waits for a thread, is made by one, or has been made: what the threads see of it.
protocol QueuedStoreCall: AnyObject, Sendable {
    /// Makes the call, unless its caller has given it up before.
    func run()
    /// Makes the caller look again at how long it may wait.
    func wakeForLimit()
}

/// One call to a store, made on one thread while another waits for it.
final class StoreCall<Result: Sendable>: QueuedStoreCall {
    typealias Body = @Sendable () throws(Errno) -> Result
    typealias Outcome = Swift.Result<Result, Errno>

    private enum Phase {
        case queued(Body)
        case sent
        case ended(Outcome)
        case givenUp
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let phase: Monitor<Phase>
    private let endedLate: @Sendable (StoreCall<Result>, Outcome) -> Void

    /// - Parameter endedLate: called with the outcome of a call that was given up after it was sent.
    init(_ body: @escaping Body, endedLate: @escaping @Sendable (StoreCall<Result>, Outcome) -> Void) {
        phase = Monitor(.queued(body))
        self.endedLate = endedLate
    }

    func run() {
        guard let outcome = outcome() else { return }
        let isAwaited = phase.withLock { phase in
            guard case .sent = phase else { return false }
            phase = .ended(outcome)
            return true
        }
        if isAwaited { phase.wakeAll() } else { endedLate(self, outcome) }
    }

    /// In a function of its own: when the caller is woken, this thread holds no reference to the call's descriptors any
    /// more, and so closes none.
    private func outcome() -> Outcome? {
        let body = phase.withLock { phase -> Body? in
            guard case .queued(let body) = phase else { return nil }
            phase = .sent
            return body
        }
        guard let body else { return nil }
        do throws(Errno) { return .success(try body()) } catch { return .failure(error.asAnswered) }
    }

    func wakeForLimit() { phase.wakeAllForLimit() }

    /// Waits for the outcome; nil once `limit` is not positive.
    func outcome(atMost limit: () -> Duration?) -> Outcome? {
        phase.wait(atMost: limit) { phase in
            guard case .ended(let outcome) = phase else { return nil }
            return outcome
        }
    }

    /// How far a call had come when its caller gave it up.
    enum Progress {
        /// It never reaches the store.
        case unsent
        case sent
        case ended(Outcome)
    }

    func giveUp() -> Progress {
        phase.withLock { phase in
            switch phase {
            case .ended(let outcome): return .ended(outcome)
            case .queued, .givenUp:
                phase = .givenUp
                return .unsent
            case .sent:
                phase = .givenUp
                return .sent
            }
        }
    }
}
