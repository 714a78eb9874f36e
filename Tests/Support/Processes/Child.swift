public import Glibc

/// A process that a test started; killed when the test releases it.
public final class Child {
    public let pid: pid_t
    public let program: String
    public private(set) var dumpedCore = false
    private var status: Int32?

    /// Starts the program with exactly the three given descriptors; it inherits no others. (The probe closes all
    /// others, changes the directory and then executes the program: glibc hides the spawn actions for that from Swift.)
    public init(
        _ program: String, _ arguments: [String], environment: [String: String] = Environment.plain,
        directory: String? = nil, input: Int32, output: Int32, errors: Int32
    ) throws {
        self.program = program
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in [(Int32(0), input), (1, output), (2, errors)] {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }
        let line = [Built.probe, "exec", directory ?? ".", program] + arguments
        let words = unsafe line.map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var child: pid_t = 0
        let code = unsafe posix_spawn(&child, Built.probe, &actions, nil, words, variables)
        guard code == 0 else {
            throw HarnessError("cannot start \(program): \(unsafe String(cString: strerror(code)))")
        }
        pid = child
    }

    deinit {
        if status == nil {
            kill(pid, SIGKILL)
            wait()
        }
    }

    /// Waits for the end: the exit code, or 128 and the number of the signal. If a killed process does not end, it
    /// waits for the reply of a daemon; then the mounts of this run are aborted.
    @discardableResult public func wait() -> Int32 {
        if let status = wait(seconds: 15) {
            return status
        }
        LiveMounts.abortAll()
        var raw: Int32 = 0
        while unsafe waitpid(pid, &raw, 0) < 0 && errno == EINTR {}
        return finish(raw)
    }

    /// Waits at most this long; nil if the process still runs, which is then left running.
    public func wait(seconds: Double) -> Int32? {
        if let status {
            return status
        }
        let end = ContinuousClock.now + .seconds(seconds)
        var raw: Int32 = 0
        while unsafe waitpid(pid, &raw, WNOHANG) == 0 {
            guard ContinuousClock.now < end else { return nil }
            usleep(2_000)
        }
        return finish(raw)
    }

    public func send(_ signal: Int32) {
        if status == nil {
            kill(pid, signal)
        }
    }

    private func finish(_ raw: Int32) -> Int32 {
        let code = raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f
        status = code
        dumpedCore = raw & 0x80 != 0 && raw & 0x7f != 0
        return code
    }
}
