import Foundation
import TestSupport

/// A line-driven program that stays open across a lock, such as the sqlite3 shell.
final class Dialogue {
    private let program: LineProgram

    var process: Child { program.process }

    init(_ program: String, _ arguments: [String]) throws {
        self.program = try LineProgram(program, arguments)
    }

    /// Sends a line and returns the output up to a mark, which a second line makes the program print.
    func say(_ line: String, mark: (say: String, hear: String), within seconds: Double = 20) throws -> String {
        try program.send("\(line)\n\(mark.say)")
        let end = ContinuousClock.now + .seconds(seconds)
        var heard = ""
        while true {
            let next = try program.line(within: (end - .now) / .seconds(1), to: line)
            if next.hasSuffix(mark.hear) { return heard + next.dropLast(mark.hear.count) }
            heard += next + "\n"
        }
    }

    /// Ends the program by the end of its input, as its user would.
    func end() -> Int32? {
        program.endInput()
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
