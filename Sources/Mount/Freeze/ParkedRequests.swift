import Fuse
import Posix
import Synchronization

/// Requests that wait for the next unlock instead of being refused.
///
/// Only requests for which the kernel holds nothing that others need, neither a page nor an inode. So they may wait
/// across a lock, and the waiting program can be killed. When the classes open, each request starts from the beginning;
/// only its reply is kept.
final class ParkedRequests: Sendable {
    /// When a request came, as `park` needs to know it.
    struct Arrival: Sendable {
        fileprivate var admissions: UInt64
        /// A time of the boot clock.
        fileprivate let deadline: Duration?
    }

    private struct State {
        var requests: [ParkedRequest] = []
        /// How often the classes were opened.
        var admissions: UInt64 = 0
        var nextNumber: UInt64 = 0
        var isClosed = false
        /// How many callers want no request to wait.
        var interrupters = 0
    }

    let whenLocked: WhenLocked
    /// Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())
    private let count = Atomic(0)
    private let wakeup: Wakeup
    private let retries = WorkQueue()
    private let watcher = Worker()

    init(_ whenLocked: WhenLocked) throws(Errno) {
        self.whenLocked = whenLocked
        wakeup = try Wakeup()
    }

    /// The number of waiting requests. Does not block.
    var waiting: Int { count.load(ordering: .relaxed) }

    /// Must be read before the request looks at a gate.
    var arrival: Arrival {
        guard case .freeze(let timeout) = whenLocked else { return Arrival(admissions: 0, deadline: nil) }
        return Arrival(admissions: state.withLock { $0.admissions }, deadline: timeout.map { BootClock.now + $0 })
    }

    /// - Throws: why a thread cannot be created; then `stop` ends the other.
    func start() throws(Errno) {
        try retries.start()
        guard whenLocked.isFreeze else { return }
        try watcher.start { [self] in watch() }
    }

    /// Takes a request that has found its class locked. Calls `retry` on another thread after the next unlock, or at
    /// once if an unlock has happened since the request came. `retry` may park the request again.
    ///
    /// - Parameter mayWait: called on another thread until it returns a value; false refuses the request.
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
        let (isTaken, refusal, admissions) = state.withLock { state in
            let refusal: Errno? = state.isClosed ? .ENOKEY : state.interrupters > 0 ? .EINTR : nil
            let isTaken = refusal == nil && state.admissions == arrival.admissions
            request.number = state.nextNumber
            state.nextNumber += 1
            if isTaken { state.requests.append(request) }
            count.store(state.requests.count, ordering: .relaxed)
            return (isTaken, refusal, state.admissions)
        }
        if isTaken {
            // After the append: an interruption that comes later wakes the watching thread by `interrupted`.
            if arrival.deadline != nil || mayWait != nil || owed.isInterrupted { wakeup.signal() }
        } else if admissions == arrival.admissions || refusal == .ENOKEY, let refusal {
            request.fail(refusal)
        } else {
            let retry = request.retry
            retries.add { retry(admissions) }
        }
    }

    /// The classes are open: starts all waiting requests from the beginning. Does not wait for them.
    func admit() {
        let (requests, admissions) = state.withLock { state in
            state.admissions += 1
            return (takeAll(&state), state.admissions)
        }
        for request in requests { retries.add { request.retry(admissions) } }
    }

    /// Answers all waiting requests with EINTR, as a signal does, and lets none wait until `allow`. Calls are counted.
    /// Does not block.
    func interrupt() {
        let requests = state.withLock { state in
            state.interrupters += 1
            return takeAll(&state)
        }
        for request in requests { request.fail(.EINTR) }
    }

    func allow() { state.withLock { $0.interrupters -= 1 } }

    /// A waiting program was sent a signal. Does not block.
    func interrupted() { wakeup.signal() }

    /// Refuses all present and future requests: no further unlock is expected.
    func close() {
        let requests = state.withLock { state in
            state.isClosed = true
            return takeAll(&state)
        }
        for request in requests { request.fail(.ENOKEY) }
        wakeup.signal()
    }

    /// Returns when no retry runs and the watching thread has ended.
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

    /// How long the watching thread may sleep without a wakeup.
    private var patience: Duration? {
        state.withLock { state in
            if state.isClosed { return .zero }
            // The program's thread may not have gone to sleep yet; only then can its system call be seen.
            if state.requests.contains(where: { $0.mayWait != nil }) { return .milliseconds(1) }
            return state.requests.lazy.compactMap(\.deadline).min().map { $0 - BootClock.now }
        }
    }

    /// Whether the requests that were not judged yet may wait, by their numbers. Not under the lock, which an unlock
    /// needs: it reads the memory of other processes.
    private func answers() -> [UInt64: Bool] {
        let questions = state.withLock { state in
            state.requests.compactMap { request in request.mayWait.map { (request.number, $0) } }
        }
        var answers: [UInt64: Bool] = [:]
        for (number, mayWait) in questions { answers[number] = mayWait() }
        return answers
    }

    /// Answers requests that have timed out, were interrupted, or may not wait.
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

/// A waiting request.
private struct ParkedRequest: Sendable {
    var number: UInt64 = 0
    let deadline: Duration?
    /// Nil once the answer is known.
    var mayWait: (@Sendable () -> Bool?)?
    var isRefused = false
    let isInterrupted: @Sendable () -> Bool
    let fail: @Sendable (Errno) -> Void
    /// Starts the request again, as of this number of admissions.
    let retry: @Sendable (UInt64) -> Void
}
