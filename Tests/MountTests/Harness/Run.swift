import Foundation
import Glibc

/// What a program that ran to its end said.
struct Outcome: CustomStringConvertible {
    let command: String
    let status: Int32
    let output: [UInt8]
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    var description: String { "\(command): exit \(status)\n\(text.prefix(2000))\(errors.prefix(2000))" }

    /// This outcome, if the program was content.
    @discardableResult func succeeded() throws -> Outcome {
        guard status == 0 else { throw HarnessError(description) }
        return self
    }
}

enum Environment {
    static let temporary = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"

    /// What the programs are given: nothing of this user's configuration, but what tools/sanitize tells the sanitizers.
    static let plain: [String: String] = sanitizers.merging([
        "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
    ]) { $1 }

    private static let sanitizers = ProcessInfo.processInfo.environment.filter { name, _ in
        ["ASAN_", "LSAN_", "TSAN_"].contains { name.hasPrefix($0) }
    }
}

/// Runs a program to its end, and throws where it fails.
@discardableResult func run(
    _ program: String, _ arguments: [String], input: [UInt8] = [],
    environment: [String: String] = Environment.plain, directory: String? = nil, within seconds: Double = 60
) throws -> Outcome {
    try attempt(
        program, arguments, input: input, environment: environment, directory: directory, within: seconds
    ).succeeded()
}

/// Runs a program that may fail: the caller looks at what came of it.
///
/// After so many seconds it is killed, the mounts of this run are aborted (a process that waits for a reply of a FUSE daemon
/// cannot be killed), and an error is thrown.
func attempt(
    _ program: String, _ arguments: [String], input: [UInt8] = [],
    environment: [String: String] = Environment.plain, directory: String? = nil, within seconds: Double = 60
) throws -> Outcome {
    let standardInput = try StreamFile(holding: input)
    let standardOutput = try StreamFile()
    let standardError = try StreamFile()
    let child = try Child(
        program, arguments, environment: environment, directory: directory,
        input: standardInput.descriptor, output: standardOutput.descriptor, errors: standardError.descriptor)
    let command = ([program] + arguments).joined(separator: " ")
    guard let status = child.wait(seconds: seconds) else {
        child.send(SIGKILL)
        LiveMounts.abortAll()
        child.wait()
        let said = String(decoding: standardError.contents, as: UTF8.self)
        throw HarnessError("\(command): no end after \(seconds) s; its connection was aborted\n\(said)")
    }
    return Outcome(
        command: command, status: status, output: standardOutput.contents,
        errors: String(decoding: standardError.contents, as: UTF8.self))
}

/// Runs a shell script that stops at its first error, and throws there. Any program of a pipe may be that error.
@discardableResult func shell(
    _ script: String, in directory: String? = nil, environment: [String: String] = Environment.plain,
    within seconds: Double = 60
) throws -> Outcome {
    try attemptShell(script, in: directory, environment: environment, within: seconds).succeeded()
}

/// Runs a shell script that stops at its first error; that it did is the caller's to see.
func attemptShell(
    _ script: String, in directory: String? = nil, environment: [String: String] = Environment.plain,
    within seconds: Double = 60
) throws -> Outcome {
    try attempt(
        "bash", ["-O", "inherit_errexit", "-o", "pipefail", "-euc", script], environment: environment,
        directory: directory, within: seconds)
}

/// A file without a name for a child's standard streams: it never blocks the child, and keeps what a killed one wrote.
final class StreamFile {
    let descriptor: Int32

    init(holding bytes: [UInt8] = []) throws {
        var template = Array("\(Environment.temporary)/latchkey-stream.XXXXXX".utf8CString)
        descriptor = unsafe mkstemp(&template)
        guard descriptor >= 0 else { throw HarnessError("mkstemp: errno \(errno)") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unsafe unlink(template)
        guard unsafe bytes.withUnsafeBytes({ unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == bytes.count
        else { throw HarnessError("cannot write a child's input") }
    }

    deinit {
        close(descriptor)
    }

    var contents: [UInt8] {
        let size = Int(lseek(descriptor, 0, SEEK_END))
        return unsafe [UInt8](unsafeUninitializedCapacity: max(size, 1)) { buffer, count in
            unsafe count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
        }
    }
}
