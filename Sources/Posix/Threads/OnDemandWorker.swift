import Synchronization

/// A thread that runs the same piece of work each time it is woken.
///
/// Wakeups that come while the work runs count as one. Thread-safe. The thread is made by `start`, so that a later
/// `wake` cannot fail for want of one.
package final class OnDemandWorker: Sendable {
    private let wakeup: Wakeup
    private let isEnding = Atomic(false)
    private let worker = Worker()

    /// - Throws: EMFILE, ENFILE or ENOMEM, where no descriptor is left.
    package init() throws(Errno) { wakeup = try Wakeup() }

    /// Starts the thread, once. It keeps `work` and this object until `end` or `stop`.
    ///
    /// - Throws: why no thread can be made, as `Worker.start` does.
    package func start(_ work: @escaping @Sendable () -> Void) throws(Errno) {
        try worker.start { [self] in
            while true {
                wakeup.wait()
                if isEnding.load(ordering: .acquiring) { return }
                work()
            }
        }
    }

    /// Has the work run once more. Does not wait, allocates nothing and cannot fail.
    package func wake() { wakeup.signal() }

    /// Ends the thread, after the work that it is at. Does not wait.
    package func end() {
        isEnding.store(true, ordering: .releasing)
        wakeup.signal()
    }

    /// Ends the thread; returns when it has ended. Not from the work itself.
    package func stop() {
        end()
        worker.join()
    }
}
