import Crypto
import Glibc
import Posix

/// A terminal at which a secret is typed without being shown.
struct Terminal {
    /// Open for reading and writing.
    let descriptor: Descriptor

    /// The terminal of standard input; nil if it is not one.
    static func standardInput() -> Terminal? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        // A duplicate, not opened again: under sudo the terminal belongs to another user.
        let number = dup(STDIN_FILENO)
        return number < 0 ? nil : Terminal(descriptor: Descriptor(owning: number))
    }

    /// The one that controls this process, if it is in the foreground there; nil if there is none.
    ///
    /// Source: tty(4). A background process would be stopped as soon as it turned the echo off.
    static func controlling() -> Terminal? {
        guard let descriptor = try? Descriptor.open(path: "/dev/tty", O_RDWR | O_NOCTTY),
            tcgetpgrp(descriptor.number) == getpgrp()
        else { return nil }
        return Terminal(descriptor: descriptor)
    }

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]

    /// Shows `prompt`, reads a line without echo, and restores the terminal in every case.
    ///
    /// Signals that end or stop a program are blocked and read from a descriptor, so none arrives between a check and
    /// the read, and none leaves the terminal without echo. The line is read only when the terminal has all of it.
    func secret(prompt: String) throws(SecretReader.Failure) -> Secret { try line(prompt: prompt, echoing: false) }

    /// Reads a text that is not secret, with echo.
    func text(prompt: String) throws(SecretReader.Failure) -> String {
        let typed = try line(prompt: prompt, echoing: true)
        return typed.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
    }

    private func line(prompt: String, echoing echoes: Bool) throws(SecretReader.Failure) -> Secret {
        var before = sigset_t()
        _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &before)
        defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        do {
            let signals = try SignalDescriptor(blocking: Self.signals)
            while true {
                let echoing = try begin(echoing: echoes)
                defer { restore(echoing) }
                // After the echo is off: an answer to the prompt is neither shown nor discarded.
                try show(prompt)
                if try Poll.readable([signals.descriptor, descriptor]).contains(0) {
                    restore(echoing)
                    deliver(try signals.next())
                } else {
                    return try SecretReader.line(from: descriptor.number)
                }
            }
        } catch let error as Errno {
            throw .io(error)
        } catch let error as SecretReader.Failure {
            throw error
        } catch {
            throw .io(.EIO)
        }
    }

    private func show(_ text: String) throws(Errno) {
        try unsafe descriptor.write(Array(text.utf8).span.bytes)
    }

    /// Turns the echo off unless `echoing`, discards what was typed ahead, and returns the previous settings.
    private func begin(echoing: Bool) throws(Errno) -> termios {
        var settings = termios()
        guard unsafe tcgetattr(descriptor.number, &settings) == 0 else { throw .current }
        let before = settings
        // The newline is echoed, so that the user sees that the line was accepted.
        if !echoing { settings.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK) }
        settings.c_lflag |= tcflag_t(ECHONL)
        guard unsafe tcsetattr(descriptor.number, TCSAFLUSH, &settings) == 0 else { throw .current }
        return before
    }

    private func restore(_ settings: termios) {
        var settings = settings
        _ = unsafe tcsetattr(descriptor.number, TCSADRAIN, &settings)
    }

    /// Lets `signal` have its default effect. Returns only if it stopped the process, after that is continued.
    private func deliver(_ signal: Int32) {
        try? show("\n")
        _ = raise(signal)
        var one = sigset_t()
        _ = unsafe sigemptyset(&one)
        _ = unsafe sigaddset(&one, signal)
        _ = unsafe pthread_sigmask(SIG_UNBLOCK, &one, nil)
        _ = unsafe pthread_sigmask(SIG_BLOCK, &one, nil)
    }
}
