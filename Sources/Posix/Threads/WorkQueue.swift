/// One thread that runs pieces of work in the order of their addition.
///
/// Thread-safe. The owner calls `stop` at its end.
package final class WorkQueue: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var isStopped = false
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let monitor = Monitor(State())
    private let worker = Worker()

    package init() {}

    /// - Throws: why the thread cannot be created. Added work then waits until `start` succeeds or `stop` is called.
    package func start() throws(Errno) { try worker.start { [self] in run() } }

    /// Adds a piece of work. After `stop` it runs at once, on the caller's thread.
    package func add(_ piece: @escaping @Sendable () -> Void) {
        let isTaken = monitor.withLock { state in
            if state.isStopped { return false }
            state.work.append(piece)
            return true
        }
        if isTaken { monitor.wakeAll() } else { piece() }
    }

    /// Runs the remaining work, ends the thread and waits for it. If no thread was created, the caller's thread runs
    /// the work.
    package func stop() {
        monitor.withLock { $0.isStopped = true }
        monitor.wakeAll()
        worker.join()
        run()
    }

    private func run() {
        while true {
            let pieces = monitor.wait { state -> [@Sendable () -> Void]? in
                guard !state.work.isEmpty || state.isStopped else { return nil }
                defer { state.work = [] }
                return state.work
            }
            if pieces.isEmpty { return }
            for piece in pieces { piece() }
        }
    }
}
