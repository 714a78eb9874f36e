import ArgumentParser
import Posix

/// `latchkey unlock`: brings the class keys into the daemon's memory.
struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Unlock a mount: all files can be read again.",
        discussion: """
            The passcode is one line of standard input if that is a pipe or a file; else it is asked for at the \
            terminal. Without a terminal the program that LATCHKEY_ASKPASS or SSH_ASKPASS names asks for it, else \
            pinentry in a window, else systemd-ask-password(1). An unlock during the grace period cancels the lock. A \
            wrong passcode changes nothing; the exit code is 3.
            """ + Examples.of("latchkey unlock ~/private", "latchkey unlock --recovery ~/private"))

    @OptionGroup var credential: CredentialOptions

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault. \(onlyMount)", valueName: "dir"))
    var argument: Path?

    func run() throws {
        let mount = try PathArgument.mount(ofOrOnly: argument)
        let named = try argument.flatMap { word throws(CommandError) in try VaultWord(word).named }
        try credential.filled(from: named, isOpen: mount.status.hasPasscode == false).unlock(mount)
    }
}
