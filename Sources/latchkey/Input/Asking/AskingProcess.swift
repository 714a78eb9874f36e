import Crypto
import Glibc
import Posix

/// A program that asks a person for a secret, and writes it to a pipe.
///
/// It has five minutes. A signal that ends this process ends the program first, so that no dialogue stays behind.
final class AskingProcess {
    private let name: Printable
    private let process: pid_t
    /// Whether it leads a process group of its own.
    private let isLeader: Bool
    private let output: Descriptor
    private let signals: SignalDescriptor
    private let deadline: Duration
    private var isReaped = false

    /// Runs `program`, and `body` while it asks. When this returns, the program has ended.
    ///
    /// - Parameters:
    ///   - name: of the program, for people.
    ///   - input: its standard input; nil for /dev/null. Its standard error is this process's.
    static func run<Result: ~Copyable>(
        _ program: Path, _ arguments: [Path], name: Printable, input: Descriptor? = nil, within limit: Duration = limit,
        _ body: (AskingProcess) throws(SecretReader.Failure) -> Result
    ) throws(SecretReader.Failure) -> Result {
        var before = sigset_t()
        _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &before)
        defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let process = try AskingProcess(program, arguments, name, input, before, limit)
        defer { process.end() }
        return try body(process)
    }

    static let limit = Duration.seconds(300)

    private init(
        _ program: Path, _ arguments: [Path], _ name: Printable, _ input: Descriptor?, _ mask: sigset_t,
        _ limit: Duration
    ) throws(SecretReader.Failure) {
        // Where there is a terminal, its Ctrl-C must reach the program too; elsewhere a group takes in what it starts.
        let isLeader = (try? Descriptor.open(path: "/dev/tty", O_RDWR | O_NOCTTY)) == nil
        // If SIGCHLD were ignored, as it may be inherited, the program's exit code would be lost.
        _ = signal(SIGCHLD, SIG_DFL)
        let pipe: Pipe
        let source: Descriptor
        do {
            pipe = try Pipe()
            source = try input ?? Descriptor.open(path: "/dev/null", O_RDONLY)
            signals = try SignalDescriptor(blocking: Self.signals + [SIGCHLD])
        } catch { throw .failed("cannot run \(name): \(error)") }
        process = try unsafe Self.spawn(program, arguments) { actions, attributes in
            unsafe posix_spawn_file_actions_adddup2(&actions, source.number, STDIN_FILENO)
            unsafe posix_spawn_file_actions_adddup2(&actions, pipe.writeEnd.number, STDOUT_FILENO)
            var mask = mask
            _ = unsafe posix_spawnattr_setsigmask(&attributes, &mask)
            let flags = POSIX_SPAWN_SETSIGMASK | (isLeader ? POSIX_SPAWN_SETPGROUP : 0)
            _ = unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        }
        withExtendedLifetime(source) {}
        (output, self.name, self.isLeader) = (pipe.readEnd, name, isLeader)
        deadline = BootClock.now + limit
    }

    private static func spawn(
        _ program: Path, _ arguments: [Path],
        _ configure: (inout posix_spawn_file_actions_t, inout posix_spawnattr_t) -> Void
    ) throws(SecretReader.Failure) -> pid_t {
        do throws(CommandError) { return try unsafe Process.spawn(program, named: program, arguments, configure) } catch
        {
            throw .unanswered(error)
        }
    }

    /// Those that end this process and that its parent has not made it ignore.
    private static var signals: [Int32] {
        (Interruption.signals + [SIGQUIT]).filter { number in
            var action = sigaction()
            guard unsafe sigaction(number, nil, &action) == 0 else { return true }
            return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) != 1
        }
    }
}

extension AskingProcess {
    /// All that it writes, without one newline at the end; nil if that is nothing, as of one that was cancelled.
    func answer() throws(SecretReader.Failure) -> Secret? {
        do throws(SecretReader.Failure) {
            return try SecretReader.contents(of: output.number, waiting: awaitOutput)
        } catch {
            guard case .empty = error else { throw error }
            return nil
        }
    }

    /// The next line that it writes; throws `empty` for an empty one, and at the end.
    func line() throws(SecretReader.Failure) -> Secret {
        try SecretReader.line(from: output.number, waiting: awaitOutput)
    }

    /// Waits until it has ended; its exit code, or 128 and the signal.
    func exitCode() throws(SecretReader.Failure) -> Int32 {
        while !hasEnded { _ = try wait(for: []) }
        isReaped = true
        return Process.exitCode(of: process)
    }

    /// Waits until something can be read from it; false if it has ended and nothing more can. What it has started may
    /// keep the pipe open.
    private func awaitOutput() throws(SecretReader.Failure) -> Bool {
        while true {
            let hasEnded = hasEnded
            if try wait(for: [output], atMost: hasEnded ? .zero : nil).contains(1) { return true }
            if hasEnded { return false }
        }
    }

    /// Waits for one of the descriptors, numbered from 1, or a signal; nil waits until the deadline, and then throws.
    private func wait(
        for descriptors: [Descriptor], atMost limit: Duration? = nil
    ) throws(SecretReader.Failure) -> [Int] {
        let ready: [Int]
        var signal: Int32?
        do throws(Errno) {
            ready = try Poll.readable(
                [signals.descriptor] + descriptors, timeout: limit ?? max(.zero, deadline - BootClock.now))
            if ready.contains(0) { signal = try signals.next() }
        } catch { throw .failed("cannot wait for \(name): \(error)") }
        if let signal, signal != SIGCHLD { try interrupt(signal) }
        guard !ready.isEmpty || limit != nil else {
            throw .failed("\(name) has given no answer in time; nothing was tried")
        }
        return ready
    }

    private func interrupt(_ signal: Int32) throws(SecretReader.Failure) {
        end()
        _ = raise(signal)
        Interruption.allow(signal)
        // Only a handler of the caller's returns.
        throw .failed("signal \(signal) has ended the question; nothing was tried")
    }

    private var hasEnded: Bool {
        guard !isReaped else { return true }
        var information = unsafe siginfo_t()
        let result = unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT)
        return unsafe result != 0 || information.si_signo == SIGCHLD
    }

    /// Ends it, with what it has started in its group, within a second.
    private func end() {
        guard !isReaped else { return }
        let target = isLeader ? -process : process
        if !hasEnded { kill(target, SIGTERM) }
        let end = BootClock.now + .seconds(1)
        while !hasEnded, BootClock.now < end {
            // SIGCHLD wakes; another signal stays pending.
            _ = try? Poll.readable([signals.descriptor], timeout: .milliseconds(20))
        }
        // Not reaped yet, so its number, and its group's, are still its own.
        kill(target, SIGKILL)
        isReaped = true
        _ = Process.exitCode(of: process)
    }
}
