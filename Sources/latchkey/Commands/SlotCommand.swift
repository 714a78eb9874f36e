import ArgumentParser
import Posix

/// `latchkey slot`: the slots of a vault.
struct SlotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot",
        abstract: "List, add, remove and test what opens a vault, mounted or not.",
        discussion: """
            passcode      typed by a person; needs this machine's device key
            key-file      a file that is kept elsewhere; needs this machine's device key
            fido2         a FIDO2 security key; needs this machine's device key
            recovery-key  52 letters and digits on paper; opens the vault anywhere
            escrow-key    the private key of an organisation; opens the vault anywhere

            Each slot releases all keys of the vault. To add, remove or test one, the command takes one that opens the \
            vault now. No file is changed: only the keybag is written anew. An older copy of the vault still opens \
            with the slots that it has.
            """,
        subcommands: [List.self, Add.self, Remove.self, Test.self])

    /// The mount or the vault.
    struct PathArgumentOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Path of the device key, for a vault that is not mounted.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("The mount, a path in it, or the vault.", valueName: "dir"))
        var argument: Path

        func slots() throws(CommandError) -> WordedSlots { try WordedSlots(of: argument, deviceKey: deviceKey?.path) }
    }
}
