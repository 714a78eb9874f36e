import Glibc
import Posix

/// A process that a test started and talks with by lines; killed when the test lets it go.
final class Program {
    let pid: pid_t
    private let input: Pipe
    private let output: Pipe
    private var pending: [UInt8] = []
    private var status: Int32?

    init(_ program: String, _ arguments: [String]) throws {
        input = try Pipe()
        output = try Pipe()
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input.readEnd.number, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.writeEnd.number, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, output.writeEnd.number, 2)
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        // Tests run on threads that have all signals blocked, which a child would inherit.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        unsafe sigemptyset(&noSignals)
        unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var child = pid_t()
        let result = unsafe posix_spawnp(&child, program, &actions, &attributes, words, environ)
        guard result == 0 else { throw Errno(rawValue: result) }
        pid = child
    }

    deinit {
        kill()
    }

    func send(_ line: String) throws {
        unsafe try input.writeEnd.write(Array((line + "\n").utf8).span.bytes)
    }

    /// The next line that it writes to standard output or standard error.
    func line(within seconds: Double) throws -> String {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            if let index = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending.removeSubrange(...index) }
                return String(decoding: pending[..<index], as: UTF8.self)
            }
            let left = end - .now
            guard left > .zero, try !Poll.readable([output.readEnd], timeout: left).isEmpty else {
                throw TestError("no line in \(seconds) s")
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            var elements = chunk.mutableSpan
            var bytes = unsafe elements.mutableBytes
            let count = try output.readEnd.read(into: &bytes)
            pending += chunk[..<count]
        }
    }

    /// The exit status, or 128 and the number of the signal.
    func end(within seconds: Double) throws -> Int32 {
        if let status { return status }
        let end = ContinuousClock.now + .seconds(seconds)
        var raw: Int32 = 0
        while unsafe waitpid(pid, &raw, WNOHANG) == 0 {
            guard ContinuousClock.now < end else { throw TestError("no end in \(seconds) s") }
            usleep(2_000)
        }
        let code = raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f
        status = code
        return code
    }

    func kill(_ signal: Int32 = SIGKILL) {
        guard status == nil else { return }
        _ = Glibc.kill(pid, signal)
        if signal == SIGKILL { _ = try? end(within: 10) }
    }
}

/// Runs a program to its end, and throws where it fails.
func run(_ program: String, _ arguments: [String], within seconds: Double = 30) throws {
    let status = try Program(program, arguments).end(within: seconds)
    guard status == 0 else { throw TestError("\(program) \(arguments): exit \(status)") }
}
