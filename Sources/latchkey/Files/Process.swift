import Glibc
import Posix

/// Other programs, started by posix_spawn(3), without a fork of this process.
enum Process {
    /// Runs `program`, found by PATH, with this process's standard streams. Returns its exit code, or 128 and the
    /// signal.
    static func run(_ program: Path, _ arguments: [Path]) throws(CommandError) -> Int32 {
        try unsafe exitCode(of: spawn(program, named: program, arguments))
    }

    /// Starts `program`; `configure` may change the child's descriptors and attributes.
    static func spawn(
        _ program: Path, named name: Path, _ arguments: [Path],
        _ configure: (inout posix_spawn_file_actions_t, inout posix_spawnattr_t) -> Void = { _, _ in }
    ) throws(CommandError) -> pid_t {
        do throws(Errno) { return try unsafe start(program, named: name, arguments, configure) } catch {
            throw CommandError(cannot: "run", name, error)
        }
    }

    /// The same, for a caller that has its own words.
    static func start(
        _ program: Path, named name: Path, _ arguments: [Path],
        _ configure: (inout posix_spawn_file_actions_t, inout posix_spawnattr_t) -> Void
    ) throws(Errno) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        _ = unsafe posix_spawn_file_actions_init(&actions)
        _ = unsafe posix_spawnattr_init(&attributes)
        defer {
            _ = unsafe posix_spawn_file_actions_destroy(&actions)
            _ = unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe configure(&actions, &attributes)
        var words = unsafe ([name] + arguments).map { unsafe $0.withCString { unsafe strdup($0) } } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var process: pid_t = 0
        let code = unsafe program.withCString {
            unsafe posix_spawnp(&process, $0, &actions, &attributes, &words, environ)
        }
        guard code == 0 else { throw Errno(rawValue: code) }
        return process
    }

    /// Waits for the end of a child.
    static func exitCode(of process: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return 128 }
        }
        return exitCode(status)
    }

    /// Of a status of waitpid(2) of a process that has ended.
    static func exitCode(_ status: Int32) -> Int32 {
        status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    /// Waits up to a second until a process that has closed its descriptors has ended; false on a timeout.
    ///
    /// The kernel closes them just before the end. A zombie counts as ended: reaping it is its parent's task.
    static func waitUntilEnded(_ process: pid_t) -> Bool {
        for _ in 0..<500 {
            guard let state = state(of: process), state != "Z" else { return true }
            usleep(2_000)
        }
        return false
    }

    /// The process's state; nil if there is no such process.
    ///
    /// Source: proc_pid_stat(5). The name before the state may contain any character, and ends at the last parenthesis.
    static func state(of process: pid_t) -> Substring? {
        guard let bytes = try? Descriptor.open(path: "/proc/\(process)/stat", O_RDONLY).bytes(atMost: 4096) else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: end)...].split(separator: " ").first
    }
}
