import Administration
import ArgumentParser
import Control
import Crypto
import Failure
import Format
import Glibc
import Keybag
import Posix
import Vault
import VaultCheck

/// `latchkey fsck`: checks whether everything in a vault is what was written there.
struct Fsck: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a vault that is not mounted, and repair it.",
        discussion: """
            Checks names, folders, headers and attributes of all entries, and reads the contents of class D; with \
            --unlock those of all classes. Changes nothing without --repair. A finding is damage (something cannot \
            be read any more), an orphan (of an interrupted operation; harmless) or a note (a name that is not the \
            vault's). Exit codes: 0 without damage, 6 with damage, even if it was repaired; the others as for every \
            command. docs/FSCK.md says more, and what --json writes.
            """ + Examples.of("latchkey fsck --unlock ~/vault", "latchkey fsck --repair --unlock ~/vault"))

    @Flag(help: "Ask for the passcode, and read the contents of all classes. Implied by a passcode that is given.")
    var unlock = false

    @OptionGroup var credential: CredentialOptions

    @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Flag(help: "Read no contents of any class.")
    var noContents = false

    @Flag(
        help: """
            Change the vault: remove orphans, and move what cannot be read to lost+found in it, with a report. A \
            repair may be interrupted and run again. Make a copy of the vault first.
            """)
    var repair = false

    @Flag(help: "With --repair: also copy partly lost files, with zeros for the lost bytes.")
    var salvage = false

    @Flag(
        help: """
            Also compare the files with what this machine has seen of them, and count those that are missing. They are \
            notes: after a restore, or a change on another machine, all may be well.
            """)
    var freshness = false

    @Flag(help: "Write JSON: one object, with all findings.")
    var json = false

    @Argument(help: ArgumentHelp("The folder with the ciphertext.", valueName: "vault"))
    var vault: Path

    func validate() throws {
        if noContents, unlock || credential.isGiven {
            throw ValidationError("Without contents nothing takes a passcode.")
        }
        if salvage, !repair { throw ValidationError("--salvage needs --repair.") }
    }

    func run() throws {
        let word = try VaultWord(vault, destroys: repair)
        let path = try folderOfVault(word.vaultPath)
        if let mounted = try PathArgument.mount(ofVault: path)?.status.mountPoint {
            throw CommandError(
                .failed, "the vault \(vault) is mounted, on \(mounted): what changes meanwhile cannot be checked",
                try: "latchkey unmount \(mounted.quoted)")
        }
        let folder = try withKeybag(of: path.path) { () throws(Failure) in
            try VaultFolder(path, readOnly: !repair, .ofCommand)
        }
        let hasNoPasscode = (try? OpenKeybag.inspect(folder.store))?.hasNoPasscode ?? false
        let isUnlocked = unlock || credential.isGiven || hasNoPasscode
        let report: any FsckReport = json ? FsckJSON(path.path) : FsckText(vault, at: path.path, isUnlocked: isUnlocked)
        defer { withExtendedLifetime(folder) {} }
        let kind = credential.kind(withoutPasscode: hasNoPasscode)
        let isAsked = isUnlocked && credential.asks(kind)
        let keyPath = deviceKey?.path ?? word.named?.keyPath
        let outcomeOfOpening = try PasscodeTries.repeating(isAsked) {
            () throws(CommandError) -> Result<CheckedVault, Failure> in
            let secret = isUnlocked ? try credential.read(kind, vault: path.path, deviceKey: keyPath) : nil
            return try credential.lastTry.trying {
                (mayBeLast) throws(CommandError) -> Result<CheckedVault, Failure> in
                do throws(Failure) {
                    let credential = try Credential?(Opener(kind, mayBeLast: mayBeLast), secret)
                    return .success(
                        try CheckedVault(
                            in: folder, deviceKeyPath: keyPath, credential, isRepaired: repair,
                            comparing: freshness))
                } catch .lastGuess(let limit) {
                    throw CommandError(lastTryOf: limit)
                } catch {
                    if isAsked, case .wrongPasscode = error { throw CommandError(error, of: vault) }
                    return .failure(error)
                }
            }
        }
        let opened: CheckedVault
        do throws(Failure) { opened = try outcomeOfOpening.get() } catch .notAVault {
            var reason = "\(BackingName.keybag) is missing"
            if case .lostKeybag(_, let erased?)? = path.lostKeybag(as: path.path) {
                reason += ": the vault was erased on \(Clock.date(Double(erased)))"
            }
            throw report.cannotOpen(.damaged(reason: reason))
        } catch {
            throw report.cannotOpen(error)
        }
        let outcome = try FsckRun(opened, readsContents: !noContents, repairs: repair, salvages: salvage, report).run()
        report.end(outcome)
        if let failure = outcome.failure(of: vault) { Standard.error(failure.text) }
        outcome.deliverSignal()
        if let code = outcome.code { throw Ended(code: code) }
    }

    /// The folder, also one that has lost its keybag: that is damage, and the folder is still a vault.
    private func folderOfVault(_ vault: Path) throws(CommandError) -> AbsolutePath {
        do throws(CommandError) { return try inWords(try AbsolutePath(ofVault: vault)) } catch {
            guard error.code == .notFound, let path = try? AbsolutePath(resolving: vault) else { throw error }
            if let mount = try inWords(try MountTable()).mount(holding: path.path), mount.isLatchkey {
                throw CommandError(
                    .notFound, "\(vault) is no vault but shows the files of one, \(mount.source)",
                    try: "latchkey unmount \(mount.mountPoint.quoted)", "latchkey fsck \(mount.source.quoted)")
            }
            if let around = PathArgument.vault(around: path) {
                throw CommandError(
                    .notFound, "\(vault) is a part of the vault \(around.path)",
                    try: "latchkey fsck \(around.path.quoted)")
            }
            guard path.hasRootFiles else { throw error }
            return path
        }
    }
}
