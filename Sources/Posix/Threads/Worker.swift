import Glibc
import Synchronization

/// A thread that its owner starts, tells by means of its own to end, and waits for.
///
/// Thread-safe. When `join` returns the thread has ended, whether it had begun by then or not, and has let go of all that it was
/// given: nothing of the owner's runs behind that. A worker that is never joined is left to itself.
package final class Worker: Sendable {
    private let thread = Mutex<pthread_t?>(nil)

    package init() {}

    deinit { thread.withLock { thread in if let thread { pthread_detach(thread) } } }

    /// Starts the thread, once.
    ///
    /// - Throws: why no thread can be made, EAGAIN mostly: RLIMIT_NPROC, a control group's pids.max, or memory. The owner may
    ///   try again, and may `join` all the same.
    package func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        try thread.withLock { thread throws(Errno) in
            precondition(thread == nil, "a worker starts once")
            thread = try makeThread(body)
        }
    }

    /// Returns when the thread has ended; at once if none was started. Several may wait. Not from the thread itself.
    package func join() {
        thread.withLock { running in
            guard let thread = running else { return }
            precondition(pthread_equal(thread, pthread_self()) == 0, "a thread cannot wait for its own end")
            pthread_join(thread, nil)
            running = nil
        }
    }
}
