import Posix

/// Keeps one of the user's processes (RLIMIT_NPROC counts threads too) for the fusermount3 that unmounts if the start
/// of the daemon fails because there are no more.
final class ReservedProcess: Sendable {
    private let worker = Worker()
    private let end: Wakeup

    init() throws(Errno) {
        end = try Wakeup()
        try worker.start { [end] in end.wait() }
    }

    /// Frees it. This may take a moment: the kernel counts a thread a little longer than pthread_join(3) waits.
    func giveBack() {
        end.signal()
        worker.join()
    }
}
