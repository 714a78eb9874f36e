import Glibc
import Posix

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
