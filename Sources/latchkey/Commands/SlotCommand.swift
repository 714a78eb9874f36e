import ArgumentParser

/// `latchkey slot`: the slots of a vault.
struct SlotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot",
        abstract: "List, add, remove and test the ways into a vault, mounted or not.",
        discussion: """
            passcode      what somebody types; needs this machine's device key
            key-file      a file that is kept elsewhere; needs this machine's device key
            fido2         a FIDO2 security key; needs this machine's device key
            recovery-key  52 letters and digits on paper; opens the vault anywhere
            escrow-key    the private key of an organisation; opens the vault anywhere

            Each releases all keys of the vault. To add, remove or test one takes one that opens the vault now. No file is \
            touched: only the keybag is written anew. Who has an older copy of the vault opens it with what opened it then.
            """,
        subcommands: [List.self, Add.self, Remove.self, Test.self])

    /// The mount or the vault.
    struct PathArgumentOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Where the device key lies, for a vault that is not mounted.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("The mount, a path in it, or the vault.", valueName: "dir"))
        var argument: String

        func slots() throws(CommandError) -> WordedSlots { try WordedSlots(of: argument, deviceKey: deviceKey?.path) }
    }
}
