import Glibc

/// The end of a process by a signal that it has minded first.
enum Interruption {
    static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// Ends the process as the signal would have: a shell's loop is to end too.
    static func die(of signal: Int32) -> Never {
        var one = sigset_t()
        _ = unsafe sigemptyset(&one)
        _ = unsafe sigaddset(&one, signal)
        _ = Glibc.signal(signal, SIG_DFL)
        _ = raise(signal)
        _ = unsafe pthread_sigmask(SIG_UNBLOCK, &one, nil)
        exit(128 + signal)
    }
}
