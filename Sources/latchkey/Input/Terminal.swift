import Crypto
import Glibc
import Posix

/// A terminal at which a person types something that must not be seen.
struct Terminal {
    /// Open for reading and writing.
    let descriptor: Descriptor

    /// The terminal that standard input is; nil if it is none.
    static func standardInput() -> Terminal? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        // Not opened anew: under sudo the terminal belongs to someone else.
        let number = dup(STDIN_FILENO)
        return number < 0 ? nil : Terminal(descriptor: Descriptor(owning: number))
    }

    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]

    /// Shows `prompt`, reads a line without echo, and puts the terminal back as it was, whatever happens meanwhile.
    ///
    /// The signals that end or stop a program are blocked and taken from a descriptor: none can fall between a check
    /// and the read, and none finds the terminal mute. The line is read only when the terminal has it whole.
    func secret(prompt: String) throws(SecretReader.Failure) -> Secret { try line(prompt: prompt, echoing: false) }

    /// What is no secret, with echo.
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
                // After the echo is off: what is typed in answer is neither shown nor thrown away.
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

    /// Turns the echo off, unless it is to stay, throws away what was typed ahead, and returns the settings from before.
    private func begin(echoing: Bool) throws(Errno) -> termios {
        var settings = termios()
        guard unsafe tcgetattr(descriptor.number, &settings) == 0 else { throw .current }
        let before = settings
        // The newline stays visible: it is the answer to the key that ends the line.
        if !echoing { settings.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK) }
        settings.c_lflag |= tcflag_t(ECHONL)
        guard unsafe tcsetattr(descriptor.number, TCSAFLUSH, &settings) == 0 else { throw .current }
        return before
    }

    private func restore(_ settings: termios) {
        var settings = settings
        _ = unsafe tcsetattr(descriptor.number, TCSADRAIN, &settings)
    }

    /// Lets `signal` do what it does by default; returns only when it stopped the process and that was continued.
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
