import CLinux
import Crypto
import Glibc
import Posix

/// A terminal at which a person types something that must not be seen.
struct Terminal {
    /// Open for reading and writing.
    let descriptor: Int32

    init?(_ descriptor: Int32) {
        guard isatty(descriptor) == 1 else { return nil }
        self.descriptor = descriptor
    }

    /// Shows `prompt`, reads a line without echo, and puts the terminal back as it was, whatever happens meanwhile.
    ///
    /// The signals that end or stop a program are blocked and taken from a signalfd: none can fall between a check and
    /// the read, and none finds the terminal mute. The line itself is read only when the terminal has it whole.
    func secret(prompt: String) throws(SecretReader.Failure) -> Secret {
        var blocked = sigset_t()
        var before = sigset_t()
        _ = unsafe sigemptyset(&blocked)
        for signal in Self.signals { _ = unsafe sigaddset(&blocked, signal) }
        _ = unsafe sigprocmask(SIG_BLOCK, &blocked, &before)
        defer { _ = unsafe sigprocmask(SIG_SETMASK, &before, nil) }
        let number = unsafe lk_signalfd(&blocked)
        guard number >= 0 else { throw .io(.current) }
        let signals = Descriptor(owning: number)

        while true {
            show(prompt)
            let echoing = try mute()
            let outcome = wait(for: signals)
            let line: Secret?
            do {
                if case .line = outcome { line = try SecretReader.line(from: descriptor) } else { line = nil }
            } catch {
                restore(echoing)
                throw error
            }
            restore(echoing)
            switch outcome {
            case .line: break
            case .signal(let signal): deliver(signal, blocked: &blocked)
            case .failed(let code): throw .io(code)
            }
            if let line { return line }
        }
    }

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]

    private enum Outcome {
        case line
        case signal(Int32)
        case failed(Errno)
    }

    private func show(_ text: String) {
        // A terminal that takes no prompt gives no line either; the read reports that.
        _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    }

    /// Turns the echo off, throws away what was typed ahead, and returns the settings from before.
    private func mute() throws(SecretReader.Failure) -> termios {
        var settings = termios()
        guard unsafe tcgetattr(descriptor, &settings) == 0 else { throw .io(.current) }
        let before = settings
        settings.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
        guard unsafe tcsetattr(descriptor, TCSAFLUSH, &settings) == 0 else { throw .io(.current) }
        return before
    }

    private func restore(_ settings: termios) {
        var settings = settings
        _ = unsafe tcsetattr(descriptor, TCSAFLUSH, &settings)
        show("\n")
    }

    private func wait(for signals: borrowing Descriptor) -> Outcome {
        var events = [
            pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&events, nfds_t(events.count), -1) < 0 {
            if errno != EINTR { return .failed(.current) }
        }
        guard events[0].revents != 0 else { return .line }
        let signal = lk_signalfd_read(signals.number)
        return signal > 0 ? .signal(signal) : .failed(.current)
    }

    /// Lets `signal` do what it does by default; returns only when it stopped the process and that was continued.
    private func deliver(_ signal: Int32, blocked: inout sigset_t) {
        _ = raise(signal)
        var one = sigset_t()
        _ = unsafe sigemptyset(&one)
        _ = unsafe sigaddset(&one, signal)
        _ = unsafe sigprocmask(SIG_UNBLOCK, &one, nil)
        _ = unsafe sigprocmask(SIG_BLOCK, &blocked, nil)
    }
}
