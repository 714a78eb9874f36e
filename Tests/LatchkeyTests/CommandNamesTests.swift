import ArgumentParser
import Testing

@testable import latchkey

/// A mistyped command is answered with the likeliest one of the grammar.
@Suite struct CommandNamesTests {
    private func refusal(_ line: String) -> CommandError? {
        do throws(CommandError) {
            try CommandNames.check(line.split(separator: " ").map(String.init))
            return nil
        } catch { return error }
    }

    @Test(
        arguments: [
            ("umount x", "umount: did you mean unmount?"), ("statsu", "statsu: did you mean status?"),
            ("Lock", "Lock: did you mean lock?"), ("pasword d", "pasword: did you mean passwd?"),
            ("slot ad passcode", "slot ad: did you mean slot add?"),
            ("slot rm 1", "slot rm: did you mean slot remove?"),
            ("class sett A f", "class sett: did you mean class set?"),
            ("remove 1 v", "remove: did you mean slot remove?"),
            ("device-keys show", "device-keys: did you mean device-key?"), ("moni", "moni: did you mean monitor?"),
            ("help umount", "umount: did you mean unmount?"), ("check v", "check: did you mean fsck?"),
            ("zzzzzz", "zzzzzz"), ("slot zzzzzz", "slot zzzzzz"),
        ]) func mistyped(line: String, text: String) throws
    {
        let error = try #require(refusal(line))
        #expect(error.code == .usage && error.message.text == "unknown command \(text)")
        #expect(error.advice.count == 1 && error.advice[0].text.hasPrefix("latchkey help"))
        // The advice is a command.
        #expect(refusal(String(error.advice[0].text.dropFirst("latchkey ".count))) == nil)
    }

    @Test(arguments: ["", "--version", "help", "help slot add", "slot", "slot --help", "mount umount d", "--verbose x"])
    func right(line: String) { #expect(refusal(line)?.message == nil) }

    /// Each command of the grammar is accepted, and is what it is itself nearest to.
    @Test func all() {
        for command in CommandNames.all() {
            #expect(refusal(command.joined(separator: " "))?.message == nil)
        }
    }

    /// A synonym leads to a command; the likeliest one may be none yet.
    @Test func synonymsAreForCommands() {
        for (word, meant) in CommandNames.synonyms {
            let found = CommandNames.suggestion(for: word, after: [])?.joined(separator: " ")
            #expect(found.map(meant.contains) == true, "\(word)")
        }
    }

    @Test(arguments: [("", "ab", 2), ("umount", "unmount", 1), ("lokc", "lock", 1), ("abc", "abc", 0), ("ab", "cd", 2)])
    func distances(one: String, other: String, count: Int) {
        #expect(CommandNames.distance(one, other) == count && CommandNames.distance(other, one) == count)
    }
}
