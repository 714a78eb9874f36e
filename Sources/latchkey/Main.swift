import ArgumentParser
import Failure
import Glibc
import Posix

/// Parses the arguments, runs the command, and ends with one of the exit codes that docs/COMMANDS.md lists.
@main
enum Main {
    static func main() {
        // Else the first file that is opened would be taken for standard input.
        if fcntl(STDIN_FILENO, F_GETFD) == -1 { _ = unsafe open("/dev/null", O_RDONLY) }
        let arguments = Array(ArgumentWords.all.dropFirst())
        if arguments.first == CompletionAnswer.request { return CompletionAnswer.write(Array(arguments.dropFirst())) }
        if arguments.first == Login.request { return Login.run(Array(arguments.dropFirst())) }
        if let script = CompletionScript.requested(by: arguments) {
            return Standard.output(Printable(verbatim: script))
        }
        do {
            MountHelper.runIfCalled(ArgumentWords.all)
            try CommandNames.check(arguments)
            var command = try Latchkey.parseAsRoot(arguments)
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

    /// Ends the process for what the argument parser throws: help, version, a completion script, or a mistake.
    ///
    /// The parser's own exit code for a mistake is 64; this program returns 2, like most Unix commands.
    private static func endParsing(_ error: any Error) -> Never {
        let text = Latchkey.fullMessage(for: error)
        if Latchkey.exitCode(for: error) == .success {
            let isVerbose = text == About.version && ArgumentWords.all.contains("--verbose")
            Standard.output(isVerbose ? About.text : printable(text))
            exit(0)
        }
        Standard.error(printable(text))
        exit(CommandError.Code.usage.rawValue)
    }

    /// Makes the parser's text printable: it quotes arguments, which a shell's `*` may have taken from another user's
    /// folder.
    static func printable(_ text: String) -> Printable {
        var bytes = Array(text.utf8)
        for word in ArgumentWords.all.dropFirst() where word.unicodeScalars.contains(where: isEscaped) {
            // An option's name, or its value, may be quoted alone.
            for part in [Substring(word)] + word.split(separator: "=", maxSplits: 1) {
                bytes.replace(Array(part.utf8), with: Array(Path(argument: String(part)).printable.text.utf8))
            }
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { Printable(line: String($0)) }.joined(separator: "\n")
    }

    private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isHidden || ArgumentWords.isMapped(scalar)
    }
}
