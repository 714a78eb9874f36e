import Foundation
import Glibc
import TestSupport

/// What a call answered.
enum Answer: Equatable, CustomStringConvertible {
    /// It succeeded; the words of its result.
    case ok(String = "")
    /// The name of its errno, or SIGBUS.
    case refused(String)

    static let noKey = Answer.refused("ENOKEY")
    static let bus = Answer.refused("SIGBUS")

    var description: String {
        switch self {
        case .ok(let result): result.isEmpty ? "ok" : "ok \(result.prefix(80))"
        case .refused(let name): name
        }
    }

    var succeeded: Bool {
        if case .ok = self { true } else { false }
    }

    /// The bytes that a reading call answered.
    func bytes() throws -> [UInt8] {
        guard case .ok(let text) = self else { throw HarnessError("expected bytes, the answer is \(self)") }
        return text == "-" ? [] : [UInt8](hexadecimal: text)
    }

    func number() throws -> Int {
        guard case .ok(let text) = self, let value = Int(text) else {
            throw HarnessError("expected a number, the answer is \(self)")
        }
        return value
    }

    func words() throws -> [String] {
        guard case .ok(let text) = self else { throw HarnessError("expected words, the answer is \(self)") }
        return text.split(separator: " ").map(String.init)
    }

    /// This answer, where a test cannot go on without success.
    @discardableResult func required(_ what: String = "a preparing call") throws -> Answer {
        guard succeeded else { throw HarnessError("\(what) was answered \(self)") }
        return self
    }
}

/// The program that keeps running while the tests lock and unlock around it: Tests/Probe.
final class Probe {
    let process: Child
    private var commands: Int32
    private let answers: Int32
    private var received: [UInt8] = []

    convenience init() throws {
        try self.init(Built.probe, environment: Environment.plain)
    }

    /// Another program that answers each line with one.
    init(_ program: String, _ arguments: [String] = [], environment: [String: String]) throws {
        // A probe that has died is an error of its test, not the end of all.
        signal(SIGPIPE, SIG_IGN)
        var downward: [Int32] = [0, 0]
        var upward: [Int32] = [0, 0]
        guard unsafe pipe(&downward) == 0, unsafe pipe(&upward) == 0 else {
            throw HarnessError("pipe: errno \(errno)")
        }
        for descriptor in downward + upward {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        process = try Child(
            program, arguments, environment: environment, input: downward[0], output: upward[1], errors: 2)
        commands = downward[1]
        answers = upward[0]
        _ = Glibc.close(downward[0])
        _ = Glibc.close(upward[1])
    }

    deinit {
        _ = Glibc.close(commands)
        _ = Glibc.close(answers)
    }

    /// Says that no more commands come.
    func endInput() {
        _ = Glibc.close(commands)
        commands = -1
    }

    /// Asks for one call and waits for its answer, at most so many seconds.
    func ask(_ words: [String], within seconds: Double = 20) throws -> Answer {
        try send(words)
        return try answer(within: seconds, to: words)
    }

    func ask(_ words: String..., within seconds: Double = 20) throws -> Answer {
        try ask(words, within: seconds)
    }

    /// Starts a call that goes on while the test does other things.
    func send(_ words: [String]) throws {
        let line = words.map(escaped).joined(separator: " ") + "\n"
        var rest = Array(line.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(commands, $0.baseAddress, $0.count) }
            guard count > 0 else {
                throw HarnessError("the probe is gone, at: \(words.joined(separator: " ").prefix(200))")
            }
            rest = rest.dropFirst(count)
        }
    }

    /// The answer of the call that was sent last.
    func answer(within seconds: Double = 20, to words: [String] = []) throws -> Answer {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            if let newline = received.firstIndex(of: 10) {
                let line = String(decoding: received[..<newline], as: UTF8.self)
                received.removeSubrange(...newline)
                return parse(line)
            }
            let left = end - ContinuousClock.now
            var waiting = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
            guard left > .zero, unsafe poll(&waiting, 1, Int32(left / .milliseconds(1)) + 1) > 0 else {
                LiveMounts.abortAll()
                process.send(SIGKILL)
                throw HarnessError(
                    "no answer in \(seconds) s; the mount was aborted: \(words.joined(separator: " ").prefix(200))")
            }
            var chunk = [UInt8](repeating: 0, count: 65536)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(answers, $0.baseAddress, $0.count) }
            guard count > 0 else {
                throw HarnessError("the probe ended, at: \(words.joined(separator: " ").prefix(200))")
            }
            received += chunk[..<count]
        }
    }

    private func parse(_ line: String) -> Answer {
        guard line == "ok" || line.hasPrefix("ok ") else { return .refused(line) }
        return .ok(String(line.dropFirst(3)))
    }

    private func escaped(_ word: String) -> String {
        word.replacingOccurrences(of: "%", with: "%25").replacingOccurrences(of: " ", with: "%20")
            .replacingOccurrences(of: "\n", with: "%0a")
    }
}
