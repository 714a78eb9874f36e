import Foundation
import Glibc

/// The output and status of a program that ran to its end.
public struct Outcome: CustomStringConvertible {
    public let command: String
    public let status: Int32
    public let output: [UInt8]
    public let errors: String

    public var text: String { String(decoding: output, as: UTF8.self) }

    public var description: String { "\(command): exit \(status)\n\(text.prefix(2000))\(errors.prefix(2000))" }

    /// Returns this outcome if the program succeeded, otherwise throws.
    @discardableResult public func succeeded() throws -> Outcome {
        guard status == 0 else { throw HarnessError(description) }
        return self
    }
}

/// Runs a program to its end, and throws if it fails.
@discardableResult public func run(
    _ program: String, _ arguments: [String], input: [UInt8] = [],
    environment: [String: String] = Environment.plain, directory: String? = nil, within seconds: Double = 60
) throws -> Outcome {
    try attempt(
        program, arguments, input: input, environment: environment, directory: directory, within: seconds
    ).succeeded()
}

/// Runs a program that may fail: the caller checks the outcome.
///
/// After this many seconds it is killed, the mounts of this run are aborted (a process that waits for a reply of a FUSE
/// daemon cannot be killed), and an error is thrown.
public func attempt(
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

/// Runs a shell script that stops at its first error, and throws then. Any program of a pipe may be that error.
@discardableResult public func shell(
    _ script: String, in directory: String? = nil, environment: [String: String] = Environment.plain,
    within seconds: Double = 60
) throws -> Outcome {
    try attemptShell(script, in: directory, environment: environment, within: seconds).succeeded()
}

/// Runs a shell script that stops at its first error; the caller checks whether it did.
public func attemptShell(
    _ script: String, in directory: String? = nil, environment: [String: String] = Environment.plain,
    within seconds: Double = 60
) throws -> Outcome {
    try attempt(
        "bash", ["-O", "inherit_errexit", "-o", "pipefail", "-euc", script], environment: environment,
        directory: directory, within: seconds)
}
