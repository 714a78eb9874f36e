import Administration
import ArgumentParser
import Failure
import Format
import Freshness
import Glibc
import Posix

extension KeybagCommand {
    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restore the keybag of a vault from a backup, and bind it to this machine.",
            discussion: """
                Takes the backup's passphrase and a new passcode; makes a device key if there is none. Recovery keys \
                and escrow keys stay as they were; the other slots are removed. The vault must not be mounted; its \
                keybag may be missing. Afterwards, latchkey fsck says whether the vault is complete.

                With --with-marks, this machine also remembers what FILE.marks says of the vault's files. Of what it \
                remembers already, the newer counts.
                """ + Examples.of("latchkey keybag restore /media/stick/vault.keybag ~/vault"))

        @OptionGroup var passphrase: PassphraseOptions
        @OptionGroup var newPasscode: NewPasscodeOptions
        @OptionGroup var strength: StrengthOptions
        @OptionGroup var cost: CostOptions

        @Flag(help: "Also take in FILE.marks: how new the vault's files were that another machine has seen.")
        var withMarks = false

        @Option(
            help: ArgumentHelp(
                "Path of the device key, old or new; with tpm2 the TPM seals it.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("The backup.", valueName: "file"))
        var file: Path

        @Argument(help: ArgumentHelp("The folder with the ciphertext.", valueName: "vault"))
        var vault: Path

        func run() throws {
            let bytes = try contents()
            let word = try VaultWord(vault, destroys: true)
            let path = try folderOfVault(word.vaultPath)
            let folder = try withKeybag(of: path.path) { () throws(Failure) in try VaultFolder(path, .ofCommand) }
            let passphrase = try passphrase.source.read(.passphrase)
            let restoration = try withKeybag(of: vault) { () throws(Failure) in
                try KeybagRestoration(of: bytes, passphrase, in: folder)
            }
            let marks = withMarks ? try marks(restoration) : nil
            let plan = try withKeybag(of: vault) { () throws(Failure) in
                try restoration.deviceKey(
                    DeviceKeyArgument.wanted(deviceKey), at: deviceKey?.path ?? word.named?.keyPath)
            }
            try strength.policy.check(isGuarded: plan.kind != .software)
            let passcode = try newPasscode.source.readNew(
                .newPasscode.of(path.path), strength, isGuarded: plan.kind != .software)
            let cost = try cost.cost(for: .milliseconds(500))
            let movedAside = try withKeybag(of: vault) { () throws(Failure) in
                try restoration.run(plan, passcode: passcode, cost: cost, allowingWeak: strength.weak, marks: marks)
            }
            Standard.output(
                "The vault \(vault) opens with the new passcode on this machine. Its device key is \(plan.path).")
            if withMarks { Standard.output("This machine remembers what was seen of its files.") }
            plan.tell(movedAside: movedAside)
            if let advice = PasscodeAdvice(passcode, cost: cost) { Standard.output("\(advice.text)") }
            Standard.output("  try: latchkey fsck --unlock \(vault.quoted)")
        }

        /// What was seen of the vault's files. Changes nothing.
        private func marks(_ restoration: borrowing KeybagRestoration) throws(CommandError) -> MarkTable {
            let path = file + MarkBackup.suffix
            guard let marks = try inWords(try restoration.marks(in: path)) else {
                throw CommandError(
                    .failed,
                    "\(path) is damaged, or was written with a backup that has other keys; nothing was changed",
                    try: "the same without --with-marks")
            }
            return marks
        }

        /// The folder, which may have lost its keybag.
        private func folderOfVault(_ vault: Path) throws(CommandError) -> AbsolutePath {
            let path = try inWords(try AbsolutePath(resolving: vault))
            if let mount = try inWords(try MountTable()).mount(holding: path.path), mount.isLatchkey {
                throw CommandError(
                    .failed, "\(vault) is in a mount; the keybag lies in the vault's own folder, \(mount.source)",
                    try: "latchkey unmount \(mount.mountPoint.quoted)")
            }
            // Before the lock is taken, which makes a file.
            guard path.isVault || path.hasRootFiles else {
                throw CommandError(.notFound, "\(vault) is not the folder of a vault; nothing was changed")
            }
            return path
        }

        private func contents() throws(CommandError) -> [UInt8] {
            do throws(Errno) {
                let input = try Descriptor.open(path: file, O_RDONLY | O_NONBLOCK)
                var bytes = [UInt8](repeating: 0, count: KeybagBackup.largest + 1)
                var elements = bytes.mutableSpan
                var span = unsafe elements.mutableBytes
                let count = try input.read(into: &span, at: 0)
                bytes.removeSubrange(count...)
                return bytes
            } catch { throw CommandError(cannot: "read the backup", file, error) }
        }
    }
}
