import Synchronization

/// A thread that runs the same work each time it is woken.
///
/// Wakeups during the work count as one. Thread-safe. `start` creates the thread, so that a later `wake` cannot fail.
package final class OnDemandWorker: Sendable {
    private let wakeup: Wakeup
    private let isEnding = Atomic(false)
    private let worker = Worker()

    /// - Throws: EMFILE, ENFILE or ENOMEM if no descriptor is available.
    package init() throws(Errno) { wakeup = try Wakeup() }

    /// Starts the thread, once. It keeps `work` and this object until `end` or `stop`.
    ///
    /// - Throws: why the thread cannot be created, as `Worker.start` does.
    package func start(_ work: @escaping @Sendable () -> Void) throws(Errno) {
        try worker.start { [self] in
            while true {
                wakeup.wait()
                if isEnding.load(ordering: .acquiring) { return }
                work()
            }
        }
    }

    /// Runs the work once more. Does not block, allocates nothing and cannot fail.
    package func wake() { wakeup.signal() }

    /// Ends the thread after its present work. Does not block.
    package func end() {
        isEnding.store(true, ordering: .releasing)
        wakeup.signal()
    }

    /// Ends the thread and waits for it. Do not call it from the work itself.
    package func stop() {
        end()
        worker.join()
    }
}
