import ArgumentParser
import Failure
import Glibc
import Posix

/// Parses the arguments, runs the command, and ends with one of the exit codes that docs/COMMANDS.md lists.
@main
enum Main {
    static func main() {
        do {
            try checkArguments()
            var command = try Latchkey.parseAsRoot()
            try command.run()
        } catch let error as CommandError {
            Standard.error(error.text)
            exit(error.code.rawValue)
        } catch let failure as Failure {
            let error = CommandError(failure)
            Standard.error(error.text)
            exit(error.code.rawValue)
        } catch let ended as Ended {
            exit(ended.code.rawValue)
        } catch {
            endParsing(error)
        }
    }

    /// Refuses arguments that are not UTF-8: Swift would replace bytes by U+FFFD, and so name another file.
    private static func checkArguments() throws(CommandError) {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = unsafe CommandLine.unsafeArgv[index] else { continue }
            let bytes = unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
            guard String(validating: bytes, as: UTF8.self) == nil else { continue }
            throw CommandError(
                .usage, "the argument \(bytes) is not UTF-8, and no command takes such a name; nothing was done",
                try: "getfattr -n user.latchkey.class FILE   (for the class of a file)",
                "setfattr -n user.latchkey.class -v CLASS FILE")
        }
    }

    /// Ends the process for what the argument parser throws: help, version, a completion script, or a mistake.
    ///
    /// The parser's own exit code for a mistake is 64; this program returns 2, like most Unix commands.
    private static func endParsing(_ error: any Error) -> Never {
        let text = Latchkey.fullMessage(for: error)
        if Latchkey.exitCode(for: error) == .success {
            let isVerbose = text == Latchkey.version && CommandLine.arguments.contains("--verbose")
            Standard.output(isVerbose ? About.text : printable(text))
            exit(0)
        }
        Standard.error(printable(text))
        exit(CommandError.Code.usage.rawValue)
    }

    /// Makes the parser's text printable: it quotes arguments, which a shell's `*` may have taken from another user's
    /// folder.
    private static func printable(_ text: String) -> Printable {
        var bytes = Array(text.utf8)
        for word in CommandLine.arguments.dropFirst() where word.unicodeScalars.contains(where: \.isHidden) {
            // An option's name, or its value, may be quoted alone.
            for part in [Substring(word)] + word.split(separator: "=", maxSplits: 1) {
                bytes.replace(Array(part.utf8), with: Array(Printable(part).text.utf8))
            }
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { Printable(line: String($0)) }.joined(separator: "\n")
    }
}
