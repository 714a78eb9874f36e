import Posix

/// One of the processes that the user may have (RLIMIT_NPROC counts threads too), kept for the fusermount3 that
/// unmounts where the start of a daemon fails because there are no more.
final class ReservedProcess: Sendable {
    private let worker = Worker()
    private let end: Wakeup

    init() throws(Errno) {
        end = try Wakeup()
        try worker.start { [end] in end.wait() }
    }

    /// It is free in a moment: the kernel counts a thread a little longer than pthread_join(3) waits.
    func giveBack() {
        end.signal()
        worker.join()
    }
}
