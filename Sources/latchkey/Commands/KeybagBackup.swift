import Administration
import ArgumentParser
import Control
import Crypto
import DeviceKeys
import Failure
import Freshness
import Glibc
import Keybag
import Posix
import Store
import Strength

extension KeybagCommand {
    struct Backup: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write a portable copy of the keybag to a new file.",
            discussion: """
                Takes what opens the vault now, and a passphrase for the copy. The file and the passphrase together \
                give all keys, without the device key; a guess of the passphrase costs four times as much as one of \
                a passcode. The vault may be mounted. A slot that is removed from the vault later does not change the \
                backup.

                With --with-marks, a second file, FILE.marks, has what this machine has seen of the vault's files, so \
                that a new machine notices older ones too.
                """ + Examples.of("latchkey keybag backup /media/stick/vault.keybag ~/vault"))

        @OptionGroup var credential: CredentialOptions
        @OptionGroup var passphrase: PassphraseOptions
        @OptionGroup var strength: StrengthOptions
        @OptionGroup var cost: CostOptions

        @Flag(help: "Also write FILE.marks: how new the vault's files were that this machine has seen.")
        var withMarks = false

        @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
        var deviceKey: DeviceKeyArgument?

        @Argument(help: ArgumentHelp("A new file, 0600.", valueName: "file"))
        var file: Path

        @Argument(help: ArgumentHelp("The vault, or its mount.", valueName: "vault"))
        var argument: Path

        func run() throws {
            let marksFile = withMarks ? AbsolutePath(lexically: file).path + MarkBackup.suffix : nil
            try NewSecretFile.check(file)
            try NewSecretFile.check(marksFile)
            let found = try PathArgument.of(argument)
            let vault = try PathArgument.vault(of: argument)
            let (keybag, keyPath) = try open(vault)
            let marks = withMarks ? try Self.marks(of: keybag, besides: keyPath) : nil
            let kind = credential.kind(withoutPasscode: keybag.hasNoPasscode)
            // Finds a mistake before anything else is typed. If the vault is mounted, its daemon tries the passcode: it
            // counts the try, and after the last allowed guess it wipes the keys in memory too.
            var opener = Opener(kind)
            let secret = try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
                let secret = try credential.read(kind, vault: vault.path, deviceKey: deviceKey?.path)
                try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                    opener.mayBeLast = mayBeLast
                    if case .mount(let mount) = found {
                        _ = try WordedSlots(of: mount).test(opener, secret)
                    } else {
                        try withKeybag(of: vault.path) { () throws(Failure) in
                            _ = try keybag.slot(openedBy: Credential(opener, reading: secret))
                        }
                    }
                }
                return secret
            }
            let passphrase = try readPassphrase()
            let cost = try cost.cost(for: .seconds(2))
            let (bytes, cipher) = try withKeybag(of: vault.path) { () throws(Failure) in
                let bytes = try keybag.backup(
                    passphrase: passphrase, cost: cost, opening: Credential(opener, reading: secret),
                    allowingWeak: strength.weak)
                // A backup that does not open is none.
                return (bytes, try OpenedBackup(bytes, passphrase: passphrase).marks())
            }
            try write(bytes)
            if let marks, let marksFile {
                do throws(Errno) {
                    try MarkBackup.write(marks, to: marksFile, volume: keybag.volume, cipher: cipher)
                } catch {
                    _ = AbsolutePath(lexically: file).path.unlink()
                    throw CommandError(cannot: "write the marks to", marksFile, error)
                }
                Standard.output(
                    "The keybag of \(vault.path) is in \(file), and what was seen of its files in \(marksFile). "
                        + "Keep both away from this machine.")
            } else {
                Standard.output("The keybag of \(vault.path) is in \(file). Keep it away from this machine.")
            }
            if let advice = PasscodeAdvice(passphrase, cost: cost) { Standard.output("\(advice.text)") }
        }

        /// What this machine remembers of the vault's files, as far as it is written down. Only reads: a daemon may
        /// write to it.
        private static func marks(of keybag: OpenKeybag, besides keyPath: Path) throws(CommandError) -> MarkTable {
            let path = DeviceKeyFile.marksPath(besides: keyPath)
            do throws(Errno) {
                return try Marks(reading: path, volume: keybag.volume, cipher: keybag.keys.marks).table
            } catch .ENOENT {
                throw CommandError(
                    .failed,
                    "this machine remembers nothing of the vault's files: there is no \(path); nothing was written",
                    try: "the same without --with-marks")
            } catch { throw CommandError(cannot: "read the marks in", path, error) }
        }

        /// An attacker who has the file can try passphrases without limit, on any number of machines.
        private func readPassphrase() throws(CommandError) -> Secret {
            // Not by the rule for passcodes, which accepts weaker ones than this.
            let read = try passphrase.source.readNew(.passphrase, strength, isGuarded: true)
            let score: Int
            do throws(CryptoError) { score = try Strength(of: read).score } catch {
                throw CommandError(.failed, "\(error)")
            }
            guard strength.weak || score >= 3 else {
                throw CommandError(
                    .failed, "the passphrase is too weak: a thief of the file finds it too soon; nothing was written",
                    try: "five random words", "the same with --weak   (if that does not matter)")
            }
            return read
        }

        /// Only reads: the daemon of a mount replaces the keybag by a rename, so there always is a complete one.
        ///
        /// - Returns: with the path of the device key.
        private func open(_ vault: AbsolutePath) throws(CommandError) -> (OpenKeybag, Path) {
            let typed = try deviceKeyPath(deviceKey?.path, of: argument)
            let store: DirectoryStore
            do throws(Errno) { store = try DirectoryStore(path: vault.path) } catch {
                throw CommandError(cannot: "open the vault", vault.path, error)
            }
            return try withKeybag(of: vault.path) { () throws(Failure) in
                let volume = try OpenKeybag.inspect(store).volume
                let path = typed ?? DeviceKeyFile.defaultPath(for: volume)
                let key = try DeviceKeyLocation.load(path: path)
                return (try OpenKeybag.open(in: store, deviceKey: key, readOnly: true), path)
            }
        }

        private func write(_ bytes: [UInt8]) throws(CommandError) {
            let path = AbsolutePath(lexically: file).path
            do throws(Errno) {
                let output = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
                do throws(Errno) {
                    try unsafe output.write(bytes.span.bytes)
                    try output.synchronize(dataOnly: false)
                    try Descriptor.open(path: path.split.folder, O_RDONLY | O_DIRECTORY).synchronize(dataOnly: false)
                } catch {
                    _ = path.unlink()
                    throw error
                }
            } catch { throw CommandError(cannot: "write the backup to", file, error) }
        }
    }
}
