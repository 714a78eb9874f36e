import ArgumentParser
import Crypto
import Format
import Glibc
import Keybag
import Posix
import Store
import Vault

/// `latchkey init`: makes a vault.
struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a vault; shows its recovery key once.",
        discussion: """
            VAULT is made if it is missing; it must be empty. The passcode is asked for twice at the terminal; else \
            it is one line of standard input.

            The device key is a file outside the vault. It is no secret from a thief of the whole disk, who then reads \
            names, sizes, extended attributes and files of class D. Losing passcode and recovery key, or the device \
            key without the recovery key, loses the data.
            """)

    @OptionGroup var passcode: PasscodeOptions

    @Option(
        help: ArgumentHelp("Write the recovery key to this new file, 0600, instead of showing it.", valueName: "file"))
    var recoveryKeyFile: String?

    @Option(
        help: ArgumentHelp(
            "Where the device key is to lie. (default: latchkey/ID.key in $XDG_STATE_HOME or ~/.local/state)",
            valueName: "path"))
    var deviceKey: String?

    @Option(help: ArgumentHelp("The class of new files, where no folder says otherwise.", valueName: "class"))
    var defaultClass = ClassArgument(.completeUntilFirstUserAuthentication)

    @Option(
        help: ArgumentHelp(
            "MiB of memory that a try of a passcode costs, 19 to 4096. (default: what takes about half a second)",
            valueName: "mib"))
    var kdfMemory: UInt32?

    @Option(help: ArgumentHelp("Passes over that memory, 2 to 64.", valueName: "number"))
    var kdfPasses: UInt32?

    @Argument(help: ArgumentHelp("The folder for the ciphertext.", valueName: "vault"))
    var vault: String

    func validate() throws {
        guard 19...4096 ~= kdfMemory ?? 19 else { throw ValidationError("--kdf-memory takes 19 to 4096 MiB.") }
        guard 2...64 ~= kdfPasses ?? 2 else { throw ValidationError("--kdf-passes takes 2 to 64.") }
    }
}

extension Init {
    /// Asks before it makes anything: whoever stops at the prompt leaves nothing behind.
    func run() throws {
        let folder = try FreshFolder(vault)
        try RecoveryKeyFile.check(recoveryKeyFile)
        let passcode = try passcode.source.readNew(.passcode)
        let file = try recoveryKeyFile.map { path throws(CommandError) in try RecoveryKeyFile(path) }
        do {
            try folder.make()
            let creation = VaultCreation(
                folder: folder, defaultClass: defaultClass.protectionClass, cost: try cost(), deviceKeyPath: deviceKey,
                typed: vault)
            let made = try creation.run(passcode: passcode)
            do {
                try handOut(RecoveryKeyText.encode(made.recoveryKey), to: file)
            } catch {
                creation.takeAway(made)
                throw error
            }
            tell(made)
        } catch {
            file?.remove()
            folder.remove()
            throw error
        }
    }

    private func handOut(_ text: borrowing Secret, to file: RecoveryKeyFile?) throws {
        if let file {
            try file.write(text)
            Standard.output("The recovery key is in \(recoveryKeyFile ?? ""). Keep it away from this machine.")
        } else {
            try show(text)
        }
    }

    /// What one try of a passcode costs.
    private func cost() throws -> Argon2Cost {
        var cost = kdfMemory != nil && kdfPasses != nil ? Argon2Cost.minimum : try Argon2Cost.calibratedForVaults()
        if let kdfMemory { cost.memoryKiB = kdfMemory << 10 }
        if let kdfPasses { cost.passes = kdfPasses }
        return cost
    }

    /// Straight from locked memory to standard output, whose failure is heard of.
    private func show(_ text: borrowing Secret) throws(CommandError) {
        do throws(Errno) {
            let number = dup(STDOUT_FILENO)
            guard number >= 0 else { throw Errno.current }
            let output = Descriptor(owning: number)
            let heading = "The recovery key, shown this once. Write it down, and keep it away from this machine:"
            try unsafe output.write(Array("\(heading)\n\n    ".utf8).span.bytes)
            try text.withBytes { bytes throws(Errno) in try output.write(bytes) }
            try unsafe output.write(Array("\n\n".utf8).span.bytes)
        } catch {
            throw CommandError(
                .failed, "cannot show the recovery key: \(error); no vault was made",
                try: "latchkey init --recovery-key-file FILE \(vault.quoted)")
        }
    }

    private func tell(_ made: borrowing VaultCreation.Made) {
        Standard.output(
            """
            It opens the vault without passcode and device key; who has neither it nor both of those has lost the data.

            The device key lies in \(made.deviceKeyPath).
            It is a file, and no secret from a thief of the whole disk, who then reads names, sizes, extended
            attributes and files of class D, and can try passcodes for the others.
            """)
        if !made.hasAttributes {
            Standard.output("The folder takes no extended attributes: in the mount there will be none but the class.")
        }
        Standard.output("New files are of class \(ProtectionClassName(defaultClass.protectionClass).text).")
        Standard.output("  try: latchkey mount --unlock \(vault.quoted) DIR")
    }
}
