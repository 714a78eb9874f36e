import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Format
import Keybag
import Policy
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
    @OptionGroup var strength: StrengthOptions

    @Flag(
        help: """
            Make a vault without a passcode. It is not protected: the device key alone opens it, until latchkey \
            passwd sets a passcode.
            """)
    var noPasscode = false

    @Option(
        help: ArgumentHelp(
            "Destroy the keys after this many wrong passcodes in a row, 4 to 250: then nothing opens the vault.",
            valueName: "number"))
    var eraseAfter: UInt8?

    @Option(
        help: ArgumentHelp("Write the recovery key to this new file, 0600, instead of showing it.", valueName: "file"))
    var recoveryKeyFile: Path?

    @Option(
        help: ArgumentHelp(
            """
            An organisation's X25519 public key, in PEM: the holder of its private key can open the vault, too. May be \
            repeated.
            """,
            valueName: "file"))
    var recoveryPublicKey: [Path] = []

    @Option(
        help: ArgumentHelp(
            """
            Path of the device key. (default: latchkey/ID.key in $XDG_STATE_HOME or ~/.local/state) With tpm2, or \
            tpm2:PATH, the TPM of this machine seals it.
            """,
            valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @OptionGroup var pcrs: PCROptions

    @Option(
        help: ArgumentHelp(
            "The class of new files, where no folder says otherwise. (default: the policy's, else C)",
            valueName: "class"))
    var defaultClass: ClassArgument?

    @OptionGroup var cost: CostOptions
    @OptionGroup var storeRisk: StoreRiskOptions

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
        guard 4...250 ~= eraseAfter ?? 4 else { throw ValidationError("--erase-after takes 4 to 250.") }
        if pcrs.pcrs != nil, deviceKey?.isSealed != true { throw ValidationError("--pcrs needs --device-key tpm2.") }
        if noPasscode, passcode.isGiven || strength.weak || eraseAfter != nil {
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
        try newName?.check(deviceKey: deviceKey?.path)
        var filled = self
        // Where nothing was typed, the table of the name has it.
        filled.deviceKey = deviceKey ?? newName?.vault.deviceKey.map { DeviceKeyArgument($0) }
        filled.defaultClass = defaultClass ?? newName?.vault.defaultClass.map { ClassArgument($0) }
        filled.storeRisk.storeRisk = storeRisk.storeRisk ?? newName?.vault.storeRisk
        filled.strength.policy.policy = strength.policy.policy ?? newName?.vault.policy
        try filled.make(newName?.vault.folderPath ?? folder ?? "", newName)
    }

    private func make(_ vault: Path, _ newName: NewName?) throws {
        let policy = try strength.policy.inForce()
        let folder = try withKeybag(of: vault) { () throws(Failure) in try FreshFolder(vault) }
        try NewSecretFile.check(recoveryKeyFile)
        let escrow = try recoveryPublicKey.map { path throws(CommandError) in try EscrowKeyFile.publicKey(in: path) }
        let eraseAfter = eraseAfter ?? UInt8(clamping: min(policy.eraseAfter ?? 0, 250))
        let defaultClass =
            defaultClass?.protectionClass ?? policy.defaultClass(or: .completeUntilFirstUserAuthentication)
        try check(policy, defaultClass, eraseAfter: eraseAfter, escrow)
        let first = try first(of: vault)
        do {
            try newName?.makeParents()
            try folder.make()
            let cost = try cost.cost(for: .milliseconds(500))
            var plan = VaultCreation.Plan(defaultClass: defaultClass, cost: cost)
            plan.escrow = escrow
            plan.allowsWeak = strength.weak
            plan.eraseAfter = eraseAfter
            plan.deviceKeyPath = deviceKey?.path
            plan.acceptsStoreRisk = storeRisk.accepts
            plan.deviceKeyKind = DeviceKeyArgument.kind(deviceKey, pcrs.pcrs ?? .none)
            let recoveryKey = try RecoveryKeyText.generate()
            let text = try RecoveryKeyText.encode(recoveryKey)
            // The first that leaves a file, which `make` takes away if it fails.
            let creation = try withKeybag(of: vault) { () throws(Failure) in try VaultCreation(in: folder, plan) }
            let made = try creation.make(first.kind, first.secret, recoveryKey: recoveryKey) {
                (make) throws(CommandError) in
                try NewSecretFile.handOut(text, to: recoveryKeyFile) { () throws(CommandError) in
                    try withKeybag(of: vault, make)
                }
            }
            tell(made, defaultClass)
            if !escrow.isEmpty, let proof = made.proof { tellOfProof(proof.text) }
            tellOfPasscode(first.secret, cost, eraseAfter: eraseAfter)
            if newName == nil {
                Standard.output("  try: latchkey mount \(noPasscode ? "" : "--unlock ")\(vault.quoted) DIR")
            }
        } catch {
            folder.remove()
            throw error
        }
        guard let newName else { return }
        try newName.keep(deviceKey: deviceKey?.path)
        let (name, point) = (newName.vault.name.text, newName.vault.mountPoint)
        Standard.output("The vault \(name) lies in \(vault); its files will appear in \(point).")
        Standard.output("  try: latchkey open \(name.quoted)")
    }

    /// The first credential.
    private struct First: ~Copyable {
        let kind: SecretKind
        let secret: Secret
    }

    private func first(of vault: Path) throws(CommandError) -> First {
        if noPasscode { return First(kind: .noPasscode, secret: try nothing()) }
        return First(
            kind: .passcode,
            secret: try passcode.source.readNew(.passcode.of(vault), strength, isGuarded: deviceKey?.isSealed == true))
    }

    /// Throws unless the policy allows such a vault.
    private func check(
        _ policy: PolicyInForce, _ defaultClass: ProtectionClass, eraseAfter: UInt8, _ escrow: [[UInt8]]
    ) throws(CommandError) {
        var facts = Facts()
        facts.defaultClass = defaultClass
        facts.erasure = eraseAfter > 0 ? .after(Int(eraseAfter)) : .never
        facts.escrowKeys = escrow
        facts.deviceKey = deviceKey?.isSealed == true ? .tpm2 : .software
        // No passcode counts as the weakest one.
        if noPasscode { facts.passcodeScore = 0 }
        if let violation = policy.violations(of: facts).first { throw CommandError(forbidden: violation) }
    }

    private func tellOfPasscode(_ passcode: borrowing Secret, _ cost: Argon2Cost, eraseAfter: UInt8) {
        if noPasscode {
            Standard.output("It has no passcode, and is not protected: encrypted with the device key alone.")
        } else if let advice = PasscodeAdvice(passcode, cost: cost) {
            Standard.output("\(advice.text)")
        }
        if eraseAfter > 0 {
            Standard.output("\(eraseAfter) wrong passcodes in a row destroy its keys: then nothing opens it any more.")
        }
    }

    private func tell(_ made: VaultCreation.Made, _ defaultClass: ProtectionClass) {
        if let recoveryKeyFile {
            Standard.output("The recovery key is in \(recoveryKeyFile). Keep it away from this machine.")
        }
        Standard.output(
            """
            It opens the vault without the passcode and the device key. If it is lost, and one of
            these is lost too, the data is lost.

            The device key lies in \(made.deviceKeyPath).
            """)
        if deviceKey?.isSealed == true {
            Standard.output(
                """
                The TPM of this machine has sealed it: a thief of the disk alone reads nothing. A thief of the whole
                machine can start it, and reads names, sizes, extended attributes and files of class D; the TPM counts
                wrong passcodes.
                """)
        } else {
            Standard.output(
                """
                It is a file, and no secret from a thief of the whole disk, who then reads names, sizes, extended
                attributes and files of class D, and can try passcodes for the others.
                """)
        }
        if !made.hasAttributes {
            Standard.output("The folder takes no extended attributes: Latchkey keeps them in files of its own.")
        }
        Standard.output("New files are of class \(ProtectionClassName(defaultClass).text).")
    }
}
