import ArgumentParser
import Foundation
import Testing

@testable import latchkey

/// Every `try:` line that begins with latchkey is a command of the grammar, with options that the command has.
@Suite struct HintTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/latchkey")

    /// The string literals in a source file that begin with `latchkey `, each interpolation replaced by `x`; not what a
    /// longer text quotes.
    static func literals(in source: String) -> [String] {
        source.components(separatedBy: "\"latchkey ").dropFirst().compactMap { rest in
            var (text, depth) = ("latchkey ", 0)
            var characters = rest[...]
            while let character = characters.popFirst() {
                if depth > 0 {
                    depth += character == "(" ? 1 : character == ")" ? -1 : 0
                } else if character == "\\", characters.first == "(" {
                    characters.removeFirst()
                    (text, depth) = (text + "x", 1)
                } else if character == "\"" || character == "\n" {
                    break
                } else {
                    text.append(character)
                }
            }
            // After a quotation the sentence goes on.
            return characters.first.map { ",)]\n".contains($0) } == true ? text : nil
        }
    }

    /// The words of a hint: without the remark after it, and with values for what the user fills in.
    private func words(_ hint: String) -> [String] {
        let values = ["CLASS": "A", "KIND": "passcode", "SECONDS": "1", "HOURS": "1", "NUMBER": "1"]
        let command = hint.components(separatedBy: "   (")[0]
        return command.split(separator: " ").dropFirst().map { values[String($0)] ?? String($0) }
    }

    @Test func areCommands() throws {
        let files = try #require(FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            for hint in Self.literals(in: try String(contentsOf: file, encoding: .utf8)) {
                let words = words(hint)
                // An interpolation may be the whole command.
                guard let first = words.first, !["x", "x,", "help", "--version"].contains(first), !hint.contains("…")
                else {
                    continue
                }
                count += 1
                // An interpolation is a path, a number, a class or a kind.
                let isCommand = ["x", "1", "A", "software"].contains { value in
                    let parsed = try? Latchkey.parseAsRoot(words.map { $0 == "x" ? value : $0 })
                    return parsed.map { !($0 is Latchkey) } ?? false
                }
                #expect(isCommand, "\(file.lastPathComponent): \(hint)")
            }
        }
        #expect(count > 60, "\(count) hints")
    }

    @Test func literalsAreFound() {
        let source = #"f(try: "latchkey a \(b("c")) d   (e)", "latchkey g")"#
        #expect(Self.literals(in: source) == ["latchkey a x d   (e)", "latchkey g"])
    }
}
