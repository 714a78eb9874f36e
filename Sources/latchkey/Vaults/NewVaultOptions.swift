import ArgumentParser
import Posix

/// A choice whose default depends on the surroundings.
enum YesOrNo: String, ExpressibleByArgument, CaseIterable {
    case yes
    case no
}

/// How a new vault is made.
struct NewVaultOptions: ParsableArguments {
    @OptionGroup var strength: StrengthOptions

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

    @Option(
        help: """
            Whether a program copies the vault's folder between machines, such as Syncthing or Nextcloud: then two of \
            them may change it in turns. (default: yes if the folder has the mark of such a program)
            """)
    var synchronised: YesOrNo?

    @OptionGroup var cost: CostOptions
    @OptionGroup var storeRisk: StoreRiskOptions

    func validate() throws {
        guard 4...250 ~= eraseAfter ?? 4 else { throw ValidationError("--erase-after takes 4 to 250.") }
        if pcrs.pcrs != nil, deviceKey?.isSealed != true { throw ValidationError("--pcrs needs --device-key tpm2.") }
    }
}
