import Glibc
import Synchronization

/// A thread that its owner starts, tells to end in its own way, and joins.
///
/// Thread-safe. When `join` returns, the thread has ended and has released all that it was given: no code of the owner
/// runs on it after that. A worker that is never joined is detached.
package final class Worker: Sendable {
    private let thread = Mutex<pthread_t?>(nil)

    package init() {}

    deinit { thread.withLock { thread in if let thread { pthread_detach(thread) } } }

    /// Starts the thread, once.
    ///
    /// - Throws: why the thread cannot be created, mostly EAGAIN: RLIMIT_NPROC, pids.max of a control group, or memory.
    ///   The owner may try again, and may call `join` all the same.
    package func start(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        try thread.withLock { thread throws(Errno) in
            precondition(thread == nil, "a worker starts once")
            thread = try makeThread(body)
        }
    }

    /// Starts the thread as one that takes no signal, in a program whose signals end it or come to another thread.
    package func startWithoutSignals(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        var all = sigset_t()
        var mine = sigset_t()
        unsafe sigfillset(&all)
        // Inherited by the thread from its beginning on. Neither call can fail.
        unsafe pthread_sigmask(SIG_SETMASK, &all, &mine)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &mine, nil) }
        try start(body)
    }

    /// Returns when the thread has ended; at once if none was started. Several threads may wait. Do not call it from
    /// the thread itself.
    package func join() {
        thread.withLock { running in
            guard let thread = running else { return }
            precondition(pthread_equal(thread, pthread_self()) == 0, "a thread cannot wait for its own end")
            pthread_join(thread, nil)
            running = nil
        }
    }
}
