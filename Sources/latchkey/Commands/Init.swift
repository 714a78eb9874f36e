import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Keybag
import Posix

/// `latchkey init`: makes a vault.
struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a vault, and show its recovery key once.",
        discussion: """
            The folder VAULT must be empty; if it is missing, it is made. With --name, latchkey open NAME opens the \
            vault later; if the configuration has a table for the name already, its settings are used. The passcode \
            is asked for twice, as latchkey unlock does; a pipe or a file as standard input has it in one line.

            The device key is a file outside the vault. A thief of the whole disk has it too, and then reads names, \
            sizes, extended attributes and files of class D. The data is lost if the passcode and the recovery key \
            are lost, or the device key and the recovery key.
            """
                + Examples.of(
                    "latchkey init ~/vault", "latchkey init --default-class complete --device-key tpm2 ~/vault"))

    @OptionGroup var passcode: PasscodeOptions

    @Flag(
        help: """
            Make a vault without a passcode. It is not protected: the device key alone opens it, until latchkey \
            passwd sets a passcode.
            """)
    var noPasscode = false

    @OptionGroup var options: NewVaultOptions

    @Option(
        help: ArgumentHelp(
            "Give the vault a name in ~/.config/latchkey/config.toml, for latchkey open NAME and the other commands.",
            valueName: "name"),
        transform: textOnly)
    var name: String?

    @Option(
        name: .customLong("mount"),
        help: ArgumentHelp("With --name: where it is to be mounted. (default: ~/NAME)", valueName: "dir"))
    var mountPoint: Path?

    @Argument(
        help: ArgumentHelp(
            "The folder for the ciphertext. (default with --name: latchkey/vaults/NAME in $XDG_DATA_HOME or "
                + "~/.local/share)", valueName: "vault"))
    var folder: Path?

    func validate() throws {
        if folder == nil, name == nil { throw ValidationError("Missing expected argument '<vault>'") }
        if mountPoint != nil, name == nil { throw ValidationError("--mount needs --name.") }
        if noPasscode, passcode.isGiven || options.strength.weak || options.eraseAfter != nil {
            throw ValidationError("--no-passcode goes with no option that is about a passcode.")
        }
    }
}

extension Init {
    /// Asks before it makes anything, so an interruption at a prompt leaves nothing behind. Shows the recovery key
    /// before the vault exists: a vault must not come into being with a recovery key that the user never saw.
    func run() throws {
        let newName = try name.map { (name) throws(CommandError) in
            try NewName(name, folder: folder, mountPoint: mountPoint)
        }
        try newName?.check(deviceKey: options.deviceKey?.path)
        // Where nothing was typed, the table of the name has it.
        var options = options
        options.deviceKey = options.deviceKey ?? newName?.vault.deviceKey.map { DeviceKeyArgument($0) }
        options.defaultClass = options.defaultClass ?? newName?.vault.defaultClass.map { ClassArgument($0) }
        options.storeRisk.storeRisk = options.storeRisk.storeRisk ?? newName?.vault.storeRisk
        options.strength.policy.policy = options.strength.policy.policy ?? newName?.vault.policy
        try make(newName?.vault.folderPath ?? folder ?? "", newName, options)
    }

    private func make(_ vault: Path, _ newName: NewName?, _ options: NewVaultOptions) throws {
        let new = try NewVault(at: vault, options, hasPasscode: !noPasscode)
        try new.make(try first(of: vault, options)) { () throws(CommandError) in try newName?.makeParents() }
        guard let newName else {
            return Standard.output("  try: latchkey mount \(noPasscode ? "" : "--unlock ")\(vault.quoted) DIR")
        }
        try newName.keep(deviceKey: options.deviceKey?.path)
        let (name, point) = (newName.vault.name.text, newName.vault.mountPoint)
        Standard.output("The vault \(name) lies in \(vault); its files will appear in \(point).")
        Standard.output("  try: latchkey open \(name.quoted)")
    }

    private func first(of vault: Path, _ options: NewVaultOptions) throws(CommandError) -> NewVault.First {
        if noPasscode { return NewVault.First(kind: .noPasscode, secret: try nothing()) }
        let isGuarded = options.deviceKey?.isSealed == true
        let secret = try passcode.source.readNew(.passcode.of(vault), options.strength, isGuarded: isGuarded)
        return NewVault.First(kind: .passcode, secret: secret)
    }
}
