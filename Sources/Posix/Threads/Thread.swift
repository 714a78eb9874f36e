import Glibc
import Synchronization

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Starts a thread that the caller must join or detach. The thread releases `body` before it ends.
func makeThread(_ body: @escaping @Sendable () -> Void) throws(Errno) -> pthread_t {
    let retained = unsafe Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let error = unsafe pthread_create(&thread, nil, { unsafe run($0) }, retained.toOpaque())
    guard error == 0 else {
        unsafe retained.release()
        throw Errno(rawValue: error)
    }
    return thread
}

private func run(_ body: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<ThreadBody>.fromOpaque(body!).takeRetainedValue().run()
    return nil
}

/// Starts a detached thread; use `Worker` for one that can be joined.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    pthread_detach(try makeThread(body))
}

/// Runs `body` on the calling thread and on up to `count` - 1 others at once; returns when all have finished.
///
/// Uses fewer threads if the system has no more.
package func runInParallel(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    var threads: [pthread_t] = []
    for _ in 1..<max(count, 1) {
        guard let thread = try? makeThread(body) else { break }
        threads.append(thread)
    }
    body()
    for thread in threads { pthread_join(thread, nil) }
}

extension Array where Element: Sendable {
    /// As `map`, for bodies that wait: on up to `threads` threads at once, or fewer if the system has no more.
    package func mapInParallel<Result: Sendable>(
        threads: Int, _ body: @escaping @Sendable (Element) -> Result
    ) -> [Result] {
        let state = Mutex((next: 0, results: [Result?](repeating: nil, count: count)))
        runInParallel(Swift.min(threads, count)) {
            while true {
                let index = state.withLock { state in
                    defer { state.next += 1 }
                    return state.next
                }
                guard index < self.count else { return }
                let result = body(self[index])
                state.withLock { $0.results[index] = result }
            }
        }
        return state.withLock { $0.results.compactMap { $0 } }
    }
}
