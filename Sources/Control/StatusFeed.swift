import Glibc
import Synchronization

/// Hands each change of state to all who watch, without ever waiting for one of them.
///
/// The owner publishes in the order of the changes; a subscription begins with the status that it is given.
public final class StatusFeed: Sendable {
    private struct Watcher {
        weak var subscription: StatusSubscription?
    }

    private let watchers = Mutex<[Watcher]>([])

    public init() {}

    /// A subscription that lasts as long as its object does.
    public func subscribe(startingWith status: Status) throws(ControlError) -> StatusSubscription {
        let subscription = try StatusSubscription(first: status)
        watchers.withLock { watchers in
            watchers.removeAll { $0.subscription == nil }
            watchers.append(Watcher(subscription: subscription))
        }
        return subscription
    }

    public func publish(_ status: Status) {
        for watcher in watchers.withLock({ $0 }) {
            watcher.subscription?.append(status)
        }
    }
}

/// The changes of state that one watcher has not taken yet.
public final class StatusSubscription: Sendable {
    /// More changes than anybody makes while a client takes one.
    static let queueLimit = 64

    private struct State {
        var queue: [Status]
        var isOverrun = false
    }

    private let state: Mutex<State>
    let wakeup: Wakeup

    fileprivate init(first: Status) throws(ControlError) {
        wakeup = try Wakeup()
        state = Mutex(State(queue: [first]))
        wakeup.signal()
    }

    fileprivate func append(_ status: Status) {
        state.withLock { state in
            if state.queue.count < Self.queueLimit { state.queue.append(status) } else { state.isOverrun = true }
        }
        wakeup.signal()
    }

    /// The changes since the last call, the oldest first; nil if the watcher was too slow and has missed some.
    func take() -> [Status]? {
        wakeup.clear()
        return state.withLock { state in
            defer { state.queue = [] }
            return state.isOverrun ? nil : state.queue
        }
    }

    /// Waits until `body` answers a result for one of the statuses, the present one first.
    public func first<Result>(where body: (Status) -> Result?) throws(ControlError) -> Result {
        while true {
            guard let statuses = take() else { throw .timedOut }
            for status in statuses {
                if let result = body(status) { return result }
            }
            _ = try wakeup.readable.wait(for: Int16(POLLIN), by: .never)
        }
    }
}
