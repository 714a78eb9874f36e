import ArgumentParser
import Control
import Failure
import Glibc
import Posix

/// `latchkey hold`: runs a command, for which a lock waits.
struct HoldCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Run a command, and keep class A after a lock until it ends, for a time at most.",
        discussion: """
            For a backup, an upload or a compilation that a lock would stop. After a lock and its grace period, the \
            keys stay as long as COMMAND runs, but for the time of --for at most, and not longer than the policy \
            allows: 15 minutes, unless it says otherwise. "latchkey lock --now", the sleep of the machine and an \
            unmount do not wait. "latchkey status" names COMMAND, its process and the reason.

            COMMAND is everything from the first word that is no option; its own options are not looked at. It runs \
            in the foreground with the same standard streams, and gets the signals that are sent to latchkey. If the \
            hold ends before it, standard error says so, and COMMAND goes on.

            The exit code is COMMAND's; 128 and the number if a signal has ended it; 127 if there is no such program, \
            126 if it cannot be run. If nothing can be held, COMMAND does not run, and the exit code is as always.
            """
                + Examples.of(
                    "latchkey hold --for 10m restic backup ~/private",
                    "latchkey hold --for 90s --because upload --vault work rsync -a ~/work host:"))

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "How long the keys stay after the grace period at most: seconds, or with a unit: 90s, 10m, 1h.",
            valueName: "time"))
    var time: HoldTime

    @Option(help: ArgumentHelp("Why, for the status and the log; at most 200 bytes.", valueName: "text"))
    var because: String?

    @Option(
        name: .customLong("vault"),
        help: ArgumentHelp(
            "Hold the lock of this mount: its folder, a path in it, its vault or its name. May be repeated; "
                + "without it, of all your mounts that are unlocked and allow it.",
            valueName: "vault"))
    var vaults: [Path] = []

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The command and its arguments.", valueName: "command"))
    var words: [String]

    /// The command without the `--` before it.
    private var command: [Path] {
        (words.first == "--" ? words.dropFirst() : words[...]).map { Path(argument: $0) }
    }

    func validate() throws {
        if let word = words.first, word.hasPrefix("-"), word != "--" {
            throw ValidationError("Unknown option '\(word)'")
        }
        if command.isEmpty { throw ValidationError("Missing expected argument '<command> ...'") }
        if let because, try textOnly(because).utf8.count > 200 {
            throw ValidationError("The text of --because has at most 200 bytes.")
        }
    }

    func run() throws {
        let command = command
        // Before the first thread.
        let child = try HeldCommand(command)
        let holds = try MountHolds.begin(
            try mounts(), seconds: time.seconds, command: child.name, because: because)
        holds.watch { place, why in Standard.note("latchkey: \(place): \(why); \(command[0]) goes on") }
        Glibc.exit(try child.run())
    }

    /// The mounts whose locks are to be held.
    private func mounts() throws -> MountHolds.Choice {
        guard !vaults.isEmpty else { return .unlocked }
        var mounts: [ServedMount] = []
        for vault in vaults {
            let mount = try PathArgument.mount(of: vault)
            if !mounts.contains(where: { $0.status.device == mount.status.device }) { mounts.append(mount) }
        }
        return .named(mounts)
    }
}
