import Format
import Foundation
import Glibc
import TestSupport

/// The answer to a call.
enum Answer: Equatable, CustomStringConvertible {
    /// The call succeeded; the words of its result.
    case ok(String = "")
    /// The call failed; the name of its errno, or SIGBUS.
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
        return text == "-" ? [] : [UInt8](hexadecimal: text)!
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

    /// This answer; throws if it is a failure.
    @discardableResult func required(_ what: String = "a preparing call") throws -> Answer {
        guard succeeded else { throw HarnessError("\(what) was answered \(self)") }
        return self
    }
}

/// The program that runs while the tests lock and unlock around it: Tests/Probe.
final class Probe {
    private let program: LineProgram

    var process: Child { program.process }

    convenience init() throws {
        try self.init(Built.probe, environment: Environment.plain)
    }

    /// Another program that answers each line with one.
    init(_ program: String, _ arguments: [String] = [], environment: [String: String]) throws {
        self.program = try LineProgram(program, arguments, environment: environment, hearsErrors: false)
    }

    /// Closes the program's input: no more commands follow.
    func endInput() {
        program.endInput()
    }

    /// Sends one call and waits for its answer, at most this many seconds.
    func ask(_ words: [String], within seconds: Double = 20) throws -> Answer {
        try send(words)
        return try answer(within: seconds, to: words)
    }

    func ask(_ words: String..., within seconds: Double = 20) throws -> Answer {
        try ask(words, within: seconds)
    }

    /// Sends a call that runs while the test does other things.
    func send(_ words: [String]) throws {
        try program.send(words.map(escaped).joined(separator: " "))
    }

    /// The answer of the call that was sent last.
    func answer(within seconds: Double = 20, to words: [String] = []) throws -> Answer {
        parse(try program.line(within: seconds, to: words.joined(separator: " ")))
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
