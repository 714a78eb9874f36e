import Glibc

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Starts a detached thread.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let retained = unsafe Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let error = unsafe pthread_create(&thread, &attributes, { unsafe run($0) }, retained.toOpaque())
    guard error == 0 else {
        unsafe retained.release()
        throw Errno(rawValue: error)
    }
}

private func run(_ body: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe Unmanaged<ThreadBody>.fromOpaque(body!).takeRetainedValue().run()
    return nil
}

/// Runs `body` on the calling thread and on up to `count` - 1 others at once; returns when all have come to its end.
///
/// Fewer where the system gives no more threads.
package func runInParallel(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    var threads: [pthread_t] = []
    for _ in 1..<max(count, 1) {
        let retained = unsafe Unmanaged.passRetained(ThreadBody(body))
        var thread = pthread_t()
        guard unsafe pthread_create(&thread, nil, { unsafe run($0) }, retained.toOpaque()) == 0 else {
            unsafe retained.release()
            break
        }
        threads.append(thread)
    }
    body()
    for thread in threads { pthread_join(thread, nil) }
}
