import Foundation
import Glibc
import TestSupport

/// A line-driven program that stays open across a lock, such as the sqlite3 shell.
final class Dialogue {
    let process: Child
    private let input: Int32
    private let output: Int32

    init(_ program: String, _ arguments: [String]) throws {
        var downward: [Int32] = [0, 0]
        var upward: [Int32] = [0, 0]
        guard unsafe pipe(&downward) == 0, unsafe pipe(&upward) == 0 else { throw HarnessError("pipe: errno \(errno)") }
        for descriptor in downward + upward {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        process = try Child(program, arguments, input: downward[0], output: upward[1], errors: upward[1])
        input = downward[1]
        output = upward[0]
        close(downward[0])
        close(upward[1])
    }

    deinit {
        close(input)
        close(output)
    }

    /// Says a line, and returns all that comes up to the mark, which the program is told to print by a line of its own.
    func say(_ line: String, mark: (say: String, hear: String), within seconds: Double = 20) throws -> String {
        let bytes = Array("\(line)\n\(mark.say)\n".utf8)
        guard unsafe bytes.withUnsafeBytes({ unsafe write(input, $0.baseAddress, $0.count) }) == bytes.count else {
            throw HarnessError("\(process.program) is gone, at: \(line)")
        }
        let end = ContinuousClock.now + .seconds(seconds)
        var heard: [UInt8] = []
        while !String(decoding: heard, as: UTF8.self).hasSuffix(mark.hear + "\n") {
            var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let left = end - .now
            guard left > .zero, unsafe poll(&waiting, 1, Int32(left / .milliseconds(1)) + 1) > 0 else {
                LiveMounts.abortAll()
                process.send(SIGKILL)
                throw HarnessError("\(process.program) does not answer; the mount was aborted: \(line)")
            }
            var chunk = [UInt8](repeating: 0, count: 65536)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(output, $0.baseAddress, $0.count) }
            guard count > 0 else { throw HarnessError("\(process.program) ended, at: \(line)") }
            heard += chunk[..<count]
        }
        return String(String(decoding: heard, as: UTF8.self).dropLast(mark.hear.count + 1))
    }

    /// Ends it as its user would, by the end of its input.
    func end() -> Int32? {
        let nothing = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        dup2(nothing, input)
        close(nothing)
        return process.wait(seconds: 20)
    }
}

/// The sqlite3 shell on a database.
struct SQLite {
    let dialogue: Dialogue

    init(_ path: String) throws {
        dialogue = try Dialogue("sqlite3", ["-batch", "-noheader", "-list", path])
    }

    /// The rows, or the error, of a statement.
    @discardableResult func ask(_ statement: String) throws -> String {
        try dialogue.say(statement, mark: (".print <>", "<>")).trimmingCharacters(in: .newlines)
    }
}
