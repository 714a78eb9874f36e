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
    @OptionGroup var strength: StrengthOptions

    @Option(
        help: ArgumentHelp("Write the recovery key to this new file, 0600, instead of showing it.", valueName: "file"))
    var recoveryKeyFile: String?

    @Option(
        help: ArgumentHelp(
            "An organisation's X25519 public key, in PEM: who has its private key can open the vault, too. May be repeated.",
            valueName: "file"))
    var recoveryPublicKey: [String] = []

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
    /// Asks before it makes anything: whoever stops at the prompt leaves nothing behind. And hands the recovery key out before
    /// there is a vault: none must come to be whose recovery key nobody has seen.
    func run() throws {
        let folder = try FreshFolder(vault)
        try NewSecretFile.check(recoveryKeyFile)
        let escrow = try recoveryPublicKey.map { path throws(CommandError) in try EscrowKeyFile.publicKey(in: path) }
        let passcode = try passcode.source.readNew(.passcode, strength)
        do {
            try folder.make()
            let cost = try cost()
            let creation = VaultCreation(
                folder: folder, defaultClass: defaultClass.protectionClass, cost: cost, escrow: escrow,
                allowsWeak: strength.weak, deviceKeyPath: deviceKey, typed: vault)
            let recoveryKey = try RecoveryKeyText.generate()
            let text = try RecoveryKeyText.encode(recoveryKey)
            tell(
                try creation.run(passcode: passcode, recoveryKey: recoveryKey) { (make) throws(CommandError) in
                    try NewSecretFile.handOut(text, to: recoveryKeyFile, make)
                })
            if let advice = PasscodeAdvice(passcode, cost: cost) { Standard.output(advice.text) }
            Standard.output("  try: latchkey mount --unlock \(vault.quoted) DIR")
        } catch {
            folder.remove()
            throw error
        }
    }

    /// What one try of a passcode costs.
    private func cost() throws -> Argon2Cost {
        var cost = kdfMemory != nil && kdfPasses != nil ? Argon2Cost.minimum : try Argon2Cost.calibratedForVaults()
        if let kdfMemory { cost.memoryKiB = kdfMemory << 10 }
        if let kdfPasses { cost.passes = kdfPasses }
        return cost
    }

    private func tell(_ made: VaultCreation.Made) {
        if let recoveryKeyFile {
            Standard.output("The recovery key is in \(recoveryKeyFile). Keep it away from this machine.")
        }
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
    }
}
