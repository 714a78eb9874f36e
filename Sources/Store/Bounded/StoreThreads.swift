import Glibc
import Posix
import Synchronization

/// The threads that make a store's calls, as many as may hang in it at once.
///
/// All are created at the start, because at a lock the system may be out of threads.
final class StoreThreads: Sendable {
    private struct State {
        var queue: [any QueuedStoreCall] = []
        var isStopped = false
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Monitor(State())
    /// A leaf. Lock order: docs/ARCHITECTURE.md.
    private let threads = Mutex<[pthread_t]>([])

    /// - Throws: why a thread cannot be created; then none is left.
    init(count: Int) throws(Errno) {
        for _ in 0..<count {
            do throws(Errno) { try startThread { [self] in run() } } catch {
                stop()
                throw error
            }
        }
    }

    /// Whether the calling thread is one of them: it must not wait for another one.
    var isCurrent: Bool {
        let current = pthread_self()
        return threads.withLock { $0.contains { pthread_equal($0, current) != 0 } }
    }

    /// Has one of the threads make the call; after `stop` the caller's thread makes it.
    func add(_ call: any QueuedStoreCall) {
        let isTaken = state.withLock { state in
            if !state.isStopped { state.queue.append(call) }
            return !state.isStopped
        }
        if isTaken { state.wakeOne() } else { call.run() }
    }

    /// Ends the threads after the calls that were added. Does not wait for them.
    func stop() {
        state.withLock { $0.isStopped = true }
        state.wakeAll()
    }

    private func run() {
        threads.withLock { $0.append(pthread_self()) }
        while makeNextCall() {}
        threads.withLock { threads in threads.removeAll { pthread_equal($0, pthread_self()) != 0 } }
    }

    private func makeNextCall() -> Bool {
        let next = state.wait { state -> (any QueuedStoreCall)?? in
            if !state.queue.isEmpty { return state.queue.removeFirst() }
            return state.isStopped ? .some(nil) : nil
        }
        next?.run()
        return next != nil
    }
}
