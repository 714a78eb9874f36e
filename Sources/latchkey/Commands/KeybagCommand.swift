import ArgumentParser
import Posix

/// `latchkey keybag`: a copy of all keys that opens on another machine.
struct KeybagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keybag",
        abstract: "Back up the keybag of a vault under a passphrase, and restore it.",
        discussion: """
            A copy of a vault opens with its passcode on a machine that has its device key, or anywhere with the \
            recovery key. A backup of the keybag, with its passphrase, opens every copy of the vault on any machine, \
            even if lk.keybag is lost or damaged.
            """,
        subcommands: [Backup.self, Restore.self])

    /// The source of a backup's passphrase.
    struct PassphraseOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Read the backup's passphrase from this file.", valueName: "file"))
        var passphraseFile: Path?

        @Option(
            name: .customLong("passphrase-fd"),
            help: ArgumentHelp("Read the backup's passphrase from this open file descriptor.", valueName: "number"))
        var passphraseDescriptor: Int32?

        func validate() throws {
            if passphraseFile != nil, passphraseDescriptor != nil {
                throw ValidationError("--passphrase-file and --passphrase-fd exclude each other.")
            }
            if let passphraseDescriptor, passphraseDescriptor < 0 {
                throw ValidationError("--passphrase-fd takes the number of an open descriptor, 0 or more.")
            }
        }

        var source: SecretSource {
            if let passphraseFile { return .file(passphraseFile) }
            if let passphraseDescriptor { return .descriptor(passphraseDescriptor) }
            return .standardInput
        }
    }
}
