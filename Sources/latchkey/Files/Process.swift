import Glibc
import Posix

/// Other programs, started without a fork of this one.
enum Process {
    /// Runs `program`, found by PATH, to its end, with our standard streams; its exit code, or 128 and the signal.
    static func run(_ program: String, _ arguments: [String]) throws(CommandError) -> Int32 {
        try unsafe exitCode(of: spawn(program, named: program, arguments))
    }

    /// Starts `program`; `configure` may add to what becomes of its descriptors and attributes.
    static func spawn(
        _ program: String, named name: String, _ arguments: [String],
        _ configure: (inout posix_spawn_file_actions_t, inout posix_spawnattr_t) -> Void = { _, _ in }
    ) throws(CommandError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        _ = unsafe posix_spawn_file_actions_init(&actions)
        _ = unsafe posix_spawnattr_init(&attributes)
        defer {
            _ = unsafe posix_spawn_file_actions_destroy(&actions)
            _ = unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe configure(&actions, &attributes)
        var words = unsafe ([name] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var process: pid_t = 0
        let code = unsafe posix_spawnp(&process, program, &actions, &attributes, &words, environ)
        guard code == 0 else { throw CommandError(cannot: "run", name, Errno(rawValue: code)) }
        return process
    }

    /// Waits for its end.
    static func exitCode(of process: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return 128 }
        }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    /// Waits until a process that has closed its descriptors has ended; false if it has not after a second.
    ///
    /// The kernel does the one just before the other. A zombie has ended: when it is reaped is its parent's business.
    static func waitUntilEnded(_ process: pid_t) -> Bool {
        for _ in 0..<500 {
            guard let state = state(of: process), state != "Z" else { return true }
            usleep(2_000)
        }
        return false
    }

    /// Nil for a process that is not there.
    ///
    /// Source: proc_pid_stat(5); the name before it may hold anything but ends with the last parenthesis.
    static func state(of process: pid_t) -> Substring? {
        guard let bytes = try? Descriptor.open(path: "/proc/\(process)/stat", O_RDONLY).bytes(atMost: 4096) else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: end)...].split(separator: " ").first
    }
}
