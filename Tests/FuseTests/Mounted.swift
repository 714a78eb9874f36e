import Glibc
import Posix
import TestSupport

/// A folder that the pass-through shows at a mount point, until the value is released.
///
/// The pass-through is a process of its own: a file system that is served by the process that uses it deadlocks. A
/// mount that hangs is aborted after `limit` seconds, which ends every call on it, and fails the test.
final class Mounted {
    let folder: TemporaryFolder
    /// The folder behind the mount, and the mount, to name files in.
    let source: Descriptor
    let mount: Descriptor?
    let program: LineProgram
    private let watchdog: Watchdog
    /// What the pass-through said when it was ready.
    let greeting: String

    /// Whether requests come by io_uring: with LATCHKEY_TRANSPORT=io_uring.
    static var usesRing: Bool {
        unsafe getenv("LATCHKEY_TRANSPORT").map { unsafe strcmp($0, "io_uring") == 0 } ?? false
    }

    /// What a call gets after the pass-through died. Its rings end a moment after it: the kernel aborts or cancels the
    /// requests of that moment.
    static var deathErrors: [Errno] {
        usesRing ? [.ENOTCONN, .ECANCELED, Errno(rawValue: ECONNABORTED)] : [.ENOTCONN]
    }

    var sourcePath: String { folder.path + "/source" }
    var path: String { folder.path + "/mount" }

    init(options: [String] = [], limit: Double = 60, opensRoot: Bool = true) throws {
        folder = try TemporaryFolder()
        for name in ["source", "mount"] { _ = try folder.makeFolder(name, mode: 0o777) }
        source = try Descriptor.open(path: folder.path + "/source", O_PATH | O_DIRECTORY)
        let options = options + (Self.usesRing ? ["ring"] : [])
        let flags = options.isEmpty ? [] : ["-o", options.joined(separator: ",")]
        program = try LineProgram(Built.passthrough, flags + [folder.path + "/source", folder.path + "/mount"])
        greeting = try program.line(within: 20)
        guard greeting.hasPrefix("mounted") else { throw HarnessError("the pass-through said \(greeting)") }
        watchdog = Watchdog(mountPoint: folder.path + "/mount", limit: limit)
        mount = opensRoot ? try Descriptor.open(path: folder.path + "/mount", O_PATH | O_DIRECTORY) : nil
    }

    deinit {
        watchdog.stop()
        program.process.send(SIGKILL)
        program.process.wait()
        unsafe umount2(path, Int32(MNT_DETACH))
    }

    /// The mount's root.
    var root: Descriptor { mount! }

    /// Sends the pass-through a command; returns its answer.
    func ask(_ command: String) throws -> String {
        try program.send(command)
        return try program.line(within: 20)
    }

    /// Asks again until the answer is as wanted.
    func wait(for answer: String, to command: String, within seconds: Double = 10) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        var last = ""
        while ContinuousClock.now < end {
            last = try ask(command)
            if last == answer { return }
            usleep(10_000)
        }
        throw HarnessError("\(command): \(last), not \(answer)")
    }

    /// This mount's line of the mount table, split at spaces; nil if it is not mounted.
    var mountLine: [String]? {
        mountLines(of: path).map { $0.split(separator: " ").map(String.init) }.last { $0[4] == path }
    }
}
