import Fuse
import Posix
import Synchronization

/// Requests that wait for the next unlock instead of being refused.
///
/// Only such as hold nothing of the kernel's that others need: no page and no inode is locked for them. So they may
/// stand across a lock, and whoever waits can be killed. Each is begun anew when the classes open; nothing of it is
/// kept but who is to be answered.
final class ParkedRequests: Sendable {
    /// When a request came: what `park` needs to know of it.
    struct Arrival: Sendable {
        fileprivate var admissions: UInt64
        /// Of the boot clock.
        fileprivate let deadline: Duration?
    }

    private struct State {
        var requests: [ParkedRequest] = []
        /// How often the classes were opened.
        var admissions: UInt64 = 0
        var nextNumber: UInt64 = 0
        var isClosed = false
    }

    let whenLocked: WhenLocked
    private let state = Mutex(State())
    private let count = Atomic(0)
    private let wakeup: Wakeup
    private let retries = WorkQueue()
    private let watcher = Worker()

    init(_ whenLocked: WhenLocked) throws(Errno) {
        self.whenLocked = whenLocked
        wakeup = try Wakeup()
    }

    /// How many wait. Waits for nobody.
    var waiting: Int { count.load(ordering: .relaxed) }

    /// To be asked before the request looks at a gate.
    var arrival: Arrival {
        guard case .freeze(let timeout) = whenLocked else { return Arrival(admissions: 0, deadline: nil) }
        return Arrival(admissions: state.withLock { $0.admissions }, deadline: timeout.map { BootClock.now + $0 })
    }

    /// - Throws: why a thread cannot be made; then `stop` ends the one that was.
    func start() throws(Errno) {
        try retries.start()
        guard whenLocked.isFreeze else { return }
        try watcher.start { [self] in watch() }
    }

    /// Takes a request that has found its class locked. `retry` is called on another thread, after the next unlock or
    /// at once if there was one since the request came; it may park again.
    ///
    /// - Parameter mayWait: asked on another thread until it knows; false has the request refused.
    func park<Value>(
        _ reply: consuming Reply<Value>, _ arrival: Arrival, mayWait: (@Sendable () -> Bool?)? = nil,
        retry: @escaping @Sendable (consuming Reply<Value>, Arrival) -> Void
    ) {
        guard whenLocked.isFreeze else { return reply.fail(.ENOKEY) }
        let owed = OwedReply(reply)
        var request = ParkedRequest(
            deadline: arrival.deadline, mayWait: mayWait, isInterrupted: { owed.isInterrupted },
            fail: { owed.fail($0) },
            retry: { admissions in
                guard let reply = owed.take() else { return }
                retry(reply, Arrival(admissions: admissions, deadline: arrival.deadline))
            })
        let (isTaken, isClosed, admissions) = state.withLock { state in
            let isTaken = !state.isClosed && state.admissions == arrival.admissions
            request.number = state.nextNumber
            state.nextNumber += 1
            if isTaken { state.requests.append(request) }
            count.store(state.requests.count, ordering: .relaxed)
            return (isTaken, state.isClosed, state.admissions)
        }
        if isTaken {
            // Behind its entry: who was interrupted before is found by the alarm that this raises.
            owed.announceInterrupt()
            if arrival.deadline != nil || mayWait != nil { wakeup.signal() }
        } else if isClosed {
            request.fail(.ENOKEY)
        } else {
            let retry = request.retry
            retries.add { retry(admissions) }
        }
    }

    /// The classes are open: all that wait begin anew. Waits for none of them.
    func admit() {
        let (requests, admissions) = state.withLock { state in
            state.admissions += 1
            return (takeAll(&state), state.admissions)
        }
        for request in requests { retries.add { request.retry(admissions) } }
    }

    /// Somebody who waits was sent a signal. Waits for nobody.
    func interrupted() { wakeup.signal() }

    /// Refuses all that wait and all that come: no unlock is to be expected any more.
    func close() {
        let requests = state.withLock { state in
            state.isClosed = true
            return takeAll(&state)
        }
        for request in requests { request.fail(.ENOKEY) }
        wakeup.signal()
    }

    /// Returns when no request is being begun anew, and none is watched.
    func stop() {
        close()
        watcher.join()
        retries.stop()
    }

    private func takeAll(_ state: inout State) -> [ParkedRequest] {
        defer { state.requests = [] }
        count.store(0, ordering: .relaxed)
        return state.requests
    }

    /// Until something is to be looked at without a wakeup.
    private var patience: Duration? {
        state.withLock { state in
            if state.isClosed { return .zero }
            // A thread that has not gone to sleep yet.
            if state.requests.contains(where: { $0.mayWait != nil }) { return .milliseconds(1) }
            return state.requests.lazy.compactMap(\.deadline).min().map { $0 - BootClock.now }
        }
    }

    /// Which of those that are not known to be allowed to wait may, by their numbers. Not under the lock, for which an
    /// unlock waits: it looks into the memory of programs.
    private func answers() -> [UInt64: Bool] {
        let questions = state.withLock { state in
            state.requests.compactMap { request in request.mayWait.map { (request.number, $0) } }
        }
        var answers: [UInt64: Bool] = [:]
        for (number, mayWait) in questions { answers[number] = mayWait() }
        return answers
    }

    /// Answers those whose time is up, those who were sent a signal, and those who may not wait.
    private func watch() {
        while true {
            _ = try? Poll.readable([wakeup.readable], timeout: patience)
            wakeup.clear()
            let answers = answers()
            let now = BootClock.now
            var late: [(ParkedRequest, Errno)] = []
            let isClosed = state.withLock { state in
                for index in state.requests.indices {
                    guard let answer = answers[state.requests[index].number] else { continue }
                    state.requests[index].mayWait = nil
                    state.requests[index].isRefused = !answer
                }
                state.requests.removeAll { request in
                    if request.isRefused {
                        late.append((request, .ENOKEY))
                    } else if request.isInterrupted() {
                        late.append((request, .EINTR))
                    } else if let deadline = request.deadline, deadline <= now {
                        late.append((request, .ENOKEY))
                    } else {
                        return false
                    }
                    return true
                }
                count.store(state.requests.count, ordering: .relaxed)
                return state.isClosed
            }
            for (request, errno) in late { request.fail(errno) }
            if isClosed { return }
        }
    }
}

/// One request that waits.
private struct ParkedRequest: Sendable {
    var number: UInt64 = 0
    let deadline: Duration?
    /// Nil once it is known.
    var mayWait: (@Sendable () -> Bool?)?
    var isRefused = false
    let isInterrupted: @Sendable () -> Bool
    let fail: @Sendable (Errno) -> Void
    /// Begins it anew, after so many admissions.
    let retry: @Sendable (UInt64) -> Void
}
