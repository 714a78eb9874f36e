import ArgumentParser

/// The command without a subcommand: help and version.
struct Latchkey: ParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "latchkey",
        abstract: "Files that lock: data protection classes for a folder on Linux.",
        discussion: """
            A vault is a folder of ciphertext. Its mount shows the files in another folder; each file belongs to a \
            protection class. "latchkey lock" takes the class keys out of memory: ten seconds later the files of \
            the strict classes are ciphertext again, while programs keep running. Every command takes the name of a \
            vault in place of its folder or mount: latchkey init --name gives one, latchkey list shows them.

            Exit codes: 0 done, 1 failed, 2 usage, 3 wrong passcode, 4 locked, 5 not a vault or not mounted, \
            6 damaged or tampered, 7 the store would lose data.
            """,
        version: About.version,
        groupedSubcommands: [
            CommandGroup(
                name: "Vault",
                subcommands: [
                    Init.self, Protect.self, Unprotect.self, Mount.self, Unmount.self, Open.self, Close.self,
                    List.self, Info.self, Passwd.self,
                    SlotCommand.self, KeybagCommand.self,
                    DeviceKeyCommand.self,
                    Fsck.self, Doctor.self,
                    Rotate.self,
                    Synchronise.self,
                    Accept.self,
                    Erase.self,
                ]),
            CommandGroup(
                name: "Mount",
                subcommands: [
                    Unlock.self, Lock.self, HoldCommand.self, StatusCommand.self, Monitor.self, AgentCommand.self,
                ]),
            CommandGroup(
                name: "File",
                subcommands: [Class.self, Explain.self, ConflictsCommand.self]),
            CommandGroup(
                name: "Machine",
                subcommands: [ConfigCommand.self, PolicyCommand.self, Speed.self]),
        ])

    /// The names of all commands.
    static var commands: [String] {
        configuration.groupedSubcommands.flatMap(\.subcommands).map { $0._commandName } + ["help"]
    }

    static let _errorPrefix = "latchkey: "

    @Flag(help: "With --version: the licence too, and what is linked in.")
    var verbose = false

    /// Subcommand options are parsed here first: no subcommand has --verbose.
    func validate() throws {
        // With --version the parser ends before this.
        if verbose { throw ValidationError("--verbose goes with --version, and with nothing else.") }
    }
}
