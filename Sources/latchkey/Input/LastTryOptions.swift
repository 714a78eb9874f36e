import ArgumentParser
import Glibc

/// What becomes of a passcode that would be the last attempt: a wrong one erases the vault's keys.
struct LastTryOptions: ParsableArguments {
    @Flag(
        help: """
            Try the passcode also if it is the last attempt before the vault's keys are erased (init --erase-after). Without \
            this a terminal asks, and nothing is tried elsewhere.
            """)
    var lastTry = false

    /// Runs `body`, which tries a passcode; it is told whether that may be the last attempt. If it must not be, and is, a person
    /// at the terminal is asked, and `body` runs again. The count is looked at where it is kept, in that call: no other process
    /// comes between.
    ///
    /// What comes after it with the same passcode is told the same: of a vault that takes one wrong passcode, each is the last.
    func trying<Result: ~Copyable>(
        _ body: (Bool) throws(CommandError) -> Result
    ) throws(CommandError) -> Result {
        do throws(CommandError) { return try body(lastTry) } catch {
            guard let limit = error.lastTryOf, let terminal = Terminal.standardInput() else { throw error }
            try Self.confirm(at: terminal, limit: limit)
            return try body(true)
        }
    }

    private static let word = "erase"

    private static func confirm(at terminal: Terminal, limit: Int) throws(CommandError) {
        Standard.error(
            "This is \(CommandError.last(of: limit)): if the passcode is wrong, the vault's keys are erased for good.")
        do throws(SecretReader.Failure) {
            guard try terminal.text(prompt: "Type \(word) to try it all the same: ") == word else { throw .empty }
        } catch { throw CommandError(.wrongPasscode, "nothing was tried: the last attempt is left") }
    }
}
