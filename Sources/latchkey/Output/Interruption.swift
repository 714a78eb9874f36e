import Glibc

/// Ends the process by a signal that it has handled first.
enum Interruption {
    static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// Gives a blocked signal its effect again.
    static func allow(_ signal: Int32) {
        var one = sigset_t()
        _ = unsafe sigemptyset(&one)
        _ = unsafe sigaddset(&one, signal)
        _ = unsafe pthread_sigmask(SIG_UNBLOCK, &one, nil)
    }

    /// Ends the process as the signal would have done, so that a shell loop ends too.
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
