public import Failure
import Glibc
import Posix
import Synchronization

/// Sends each change of state to all subscriptions, without waiting for any of them, and keeps the last changes for
/// clients that reconnect.
///
/// The owner publishes in the order of the changes. A subscription begins with the status that it is given, or with the
/// changes after the last one that its client has seen.
public final class StatusFeed: Sendable {
    /// Number of changes that are kept.
    static let historyLimit = 64

    private struct Watcher {
        weak var subscription: StatusSubscription?
    }

    private struct State {
        var watchers: [Watcher] = []
        /// The latest changes, the oldest first.
        var history: [StatusChange] = []
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

    public init() {}

    /// A subscription, which lasts as long as its object.
    ///
    /// - Parameters:
    ///   - status: the present one. The subscription begins with it if the changes after `position` are not known.
    ///   - position: the last change that the client has seen.
    public func subscribe(
        startingWith status: Status, after position: MonitorPosition? = nil
    ) throws(Failure) -> StatusSubscription {
        try state.withLock { state throws(Failure) in
            let missed = position.flatMap { Self.changes(after: $0, until: status, in: state.history) } ?? []
            let first = missed.isEmpty ? [StatusChange(nil, status)] : missed
            let subscription = try StatusSubscription(first: first)
            state.watchers.removeAll { $0.subscription == nil }
            state.watchers.append(Watcher(subscription: subscription))
            return subscription
        }
    }

    /// All changes from a position to the present status; nil if some are not known any more, or never happened.
    private static func changes(
        after position: MonitorPosition, until status: Status, in history: [StatusChange]
    ) -> [StatusChange]? {
        guard let now = status.sequence, position.instance == status.instance, 0...max(0, now) ~= position.sequence
        else { return nil }
        let missed = history.filter { $0.status.sequence.map { $0 > position.sequence } ?? false }
        return missed.count == now - position.sequence ? missed : nil
    }

    public func publish(_ change: StatusChange) {
        let watchers = state.withLock { state in
            state.history.append(change)
            if state.history.count > Self.historyLimit { state.history.removeFirst() }
            return state.watchers
        }
        for watcher in watchers { watcher.subscription?.append(change) }
    }
}

/// The changes of state that one client has not taken yet.
public final class StatusSubscription: Sendable {
    /// More changes than happen while a client takes one.
    static let queueLimit = 64

    private struct State {
        var queue: [StatusChange]
        var isOverrun = false
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state: Mutex<State>
    let wakeup: Wakeup

    fileprivate init(first: [StatusChange]) throws(Failure) {
        do { wakeup = try Wakeup() } catch { throw .io(error, doing: "make an eventfd") }
        state = Mutex(State(queue: first))
        wakeup.signal()
    }

    fileprivate func append(_ change: StatusChange) {
        state.withLock { state in
            // The changes with which it began do not count: they are older than the subscription.
            if state.queue.count < Self.queueLimit + StatusFeed.historyLimit {
                state.queue.append(change)
            } else {
                state.isOverrun = true
            }
        }
        wakeup.signal()
    }

    /// The changes since the last call, the oldest first; nil if the client was too slow and some were dropped.
    func take() -> [StatusChange]? {
        wakeup.clear()
        return state.withLock { state in
            defer { state.queue = [] }
            return state.isOverrun ? nil : state.queue
        }
    }

    /// Waits until `body` returns a result for one of the statuses, the present one first.
    ///
    /// - Parameter seconds: the timeout; nil for none.
    /// - Throws: `timedOut`.
    public func first<Result>(
        within seconds: Double? = nil, where body: (Status) -> Result?
    ) throws(Failure) -> Result {
        let deadline = seconds.map { Deadline.after(seconds: $0) } ?? .never
        while true {
            guard let changes = take() else { throw .timedOut }
            for change in changes {
                if let result = body(change.status) { return result }
            }
            guard try wakeup.readable.wait(for: Int16(POLLIN), by: deadline) != 0 else { throw .timedOut }
        }
    }
}
