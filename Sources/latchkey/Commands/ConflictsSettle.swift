import ArgumentParser
import Glibc
import Posix
import Vault

/// What `take` and `drop` have in common.
struct SettleOptions: ParsableArguments {
    @Flag(help: "Ask nothing.")
    var yes = false

    @Argument(help: ArgumentHelp("The version.", valueName: "file"))
    var files: [Path]

    func settle(_ body: (Conflict) throws(CommandError) -> Void) throws {
        var failures = Failures()
        for file in files { failures.collect { () throws(CommandError) in try body(try Conflict(at: file)) } }
        try failures.end(of: files.count)
    }

    /// Asks before something that cannot be undone.
    func confirm(_ question: Printable) throws(CommandError) {
        guard !yes else { return }
        guard let terminal = Terminal.standardInput() else {
            throw CommandError(.usage, "there is no terminal to ask at; nothing was done", try: "the same with --yes")
        }
        guard try terminal.yes(question, usually: false) else { throw CommandError(.failed, "nothing was done") }
    }
}

/// `latchkey conflicts take`
struct TakeConflict: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take",
        abstract: "Give a version that was put aside the name of its file; the version that has it now is removed.",
        discussion: Examples.of("latchkey conflicts take 'report (conflict of 2026-11-24).odt'"))

    @OptionGroup var options: SettleOptions

    func run() throws {
        try options.settle { (conflict) throws(CommandError) in
            if conflict.original.access(F_OK) == 0 {
                try options.confirm("Remove the version that is \(conflict.original) now?")
            }
            do throws(Errno) {
                guard conflict.path.rename(to: conflict.original) == 0 else { throw Errno.current }
                let file = try Descriptor.open(path: conflict.original, O_PATH | O_NOFOLLOW)
                do throws(Errno) { try file.removeAttribute(Vault.conflictAttribute) } catch {
                    guard error == .ENODATA else { throw error }
                }
            } catch { throw CommandError(cannot: "take", conflict.path, error) }
            Standard.output("\(conflict.original) is the version that was put aside.")
        }
    }
}

/// `latchkey conflicts drop`
struct DropConflict: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Remove a version that was put aside.",
        discussion: Examples.of("latchkey conflicts drop 'report (conflict of 2026-11-24).odt'"))

    @OptionGroup var options: SettleOptions

    func run() throws {
        try options.settle { (conflict) throws(CommandError) in
            try options.confirm("Remove \(conflict.path)?")
            guard conflict.path.unlink() == 0 else {
                throw CommandError(cannot: "remove", conflict.path, Errno.current)
            }
            Standard.output("\(conflict.path) is removed.")
        }
    }
}
