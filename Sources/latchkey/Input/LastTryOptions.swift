import ArgumentParser
import Glibc

/// Whether a passcode is tried if it is the last attempt, after which a wrong one erases the vault's keys.
struct LastTryOptions: ParsableArguments {
    @Flag(
        help: """
            Try the passcode even if it is the last attempt before the vault's keys are erased (init --erase-after). \
            Without this option a terminal asks first; without a terminal nothing is tried.
            """)
    var lastTry = false

    /// Runs `body`, which tries a passcode; its argument says whether that may be the last attempt. If it fails because
    /// it may not be, asks the user at the terminal, and runs `body` again. The call itself checks the count, under its
    /// lock, so no other process can count in between.
    ///
    /// Later calls with the same passcode get the same answer: if a vault allows one wrong passcode, each try is the
    /// last.
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
