import ArgumentParser
import Glibc

/// Parses the arguments, runs the command, and ends with one of the exit codes that the README lists.
@main
enum Main {
    static func main() {
        do {
            var command = try Latchkey.parseAsRoot()
            try command.run()
        } catch let error as CommandError {
            Standard.error(error.description)
            exit(error.code.rawValue)
        } catch let ended as Ended {
            exit(ended.code.rawValue)
        } catch {
            endParsing(error)
        }
    }

    /// What the argument parser throws: help, the version, a completion script, or a mistake in the arguments.
    ///
    /// Its own code for a mistake is 64; ours is 2, as of most Unix commands.
    private static func endParsing(_ error: any Error) -> Never {
        let text = Latchkey.fullMessage(for: error)
        if Latchkey.exitCode(for: error) == .success {
            Standard.output(text)
            exit(0)
        }
        Standard.error(text)
        exit(CommandError.Code.usage.rawValue)
    }
}
