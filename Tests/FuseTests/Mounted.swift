import Foundation
import Glibc
import Posix
import Testing

/// A folder shown by the pass-through at a mount point, until it is let go.
///
/// The pass-through is a process of its own: a file system that is served by the process that uses it deadlocks. A
/// mount that hangs is aborted after `limit` seconds, which ends every call on it, and fails the test.
final class Mounted {
    let folder: TemporaryFolder
    /// The folder behind the mount, and the mount, to name files in.
    let source: Descriptor
    let mount: Descriptor?
    let program: Program
    private let watchdog: Watchdog
    /// What the pass-through said when it was ready.
    let greeting: String

    var sourcePath: String { folder.path + "/source" }
    var path: String { folder.path + "/mount" }

    init(options: [String] = [], limit: Double = 60, opensRoot: Bool = true) throws {
        folder = try TemporaryFolder()
        for name in ["source", "mount"] { try folder.makeFolder(name) }
        source = try openFile(folder.path + "/source", O_PATH | O_DIRECTORY)
        let flags = options.isEmpty ? [] : ["-o", options.joined(separator: ",")]
        program = try Program(Built.passthrough, flags + [folder.path + "/source", folder.path + "/mount"])
        greeting = try program.line(within: 20)
        guard greeting.hasPrefix("mounted") else { throw TestError("the pass-through said \(greeting)") }
        watchdog = Watchdog(mountPoint: folder.path + "/mount", limit: limit)
        mount = opensRoot ? try openFile(folder.path + "/mount", O_PATH | O_DIRECTORY) : nil
    }

    deinit {
        watchdog.stop()
        program.kill()
        unsafe umount2(path, Int32(MNT_DETACH))
    }

    /// The mount's root.
    var root: Descriptor { mount! }

    /// Asks the pass-through for something; what it answers.
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
        throw TestError("\(command): \(last), not \(answer)")
    }

    /// This mount's line of the mount table, split at spaces; nil if it is not mounted.
    var mountLine: [String]? {
        let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
        return table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }.last {
            $0.count > 4 && $0[4] == path
        }
    }
}

struct TestError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A folder of one test, removed with all that it holds.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/latchkey-fuse.XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Errno.current }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        unsafe chmod(path, 0o755)
    }

    deinit {
        // What is still mounted here belongs to a failed test; rmdir leaves it alone, removal would go through it.
        unsafe umount2(path + "/mount", Int32(MNT_DETACH))
        try? FileManager.default.removeItem(atPath: path)
    }

    func makeFolder(_ name: String) throws {
        guard unsafe mkdir(path + "/" + name, 0o777) == 0 else { throw Errno.current }
        unsafe chmod(path + "/" + name, 0o777)
    }
}

func openFile(_ path: String, _ flags: Int32, mode: UInt32 = 0o644) throws -> Descriptor {
    let number = unsafe open(path, flags | O_CLOEXEC, mode)
    guard number >= 0 else { throw Errno.current }
    return Descriptor(owning: number)
}

/// The programs that were built with these tests, beside them, and what this machine lacks for mounting.
enum Built {
    static let passthrough: String = {
        let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
        if unsafe access(beside + "/passthrough", X_OK) == 0 { return beside + "/passthrough" }
        // Where the tests are run by another program, their bundle is named by an argument.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path + "/passthrough"
    }()

    static let canMount: Bool = {
        let file = unsafe open("/dev/fuse", O_RDWR | O_CLOEXEC)
        if file >= 0 { close(file) }
        return file >= 0
    }()

    static let why: Comment = "/dev/fuse cannot be opened: load the fuse module, or run the tests as root"
}
