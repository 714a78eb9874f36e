import Posix

/// A question at the terminal before something that cannot be undone.
struct Confirmation {
    /// Shown on standard error, with `question` at its end.
    let warning: Printable
    let question: String
    /// Why the command does nothing where it cannot ask, and the command that needs no answer.
    let refusal: (why: Printable, command: Printable)

    /// Returns if the user types yes.
    func ask() throws(CommandError) {
        guard let terminal = Terminal.standardInput() else {
            throw CommandError(.usage, "\(refusal.why); nothing was done", try: refusal.command)
        }
        Standard.error(warning)
        do throws(SecretReader.Failure) {
            guard try terminal.text(prompt: question) == "yes" else { throw .empty }
        } catch { throw CommandError(.failed, "nothing was done") }
    }
}
