import Administration
import ArgumentParser
import Control
import Failure
import Keybag
import Posix
import Vault

/// `latchkey synchronise`: an existing vault becomes a synchronised one.
struct Synchronise: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make an existing vault one that several machines change in turns.",
        discussion: """
            Does for an existing vault what latchkey init --synchronised yes does for a new one: a program such as \
            Syncthing or Nextcloud may copy its folder between machines, and each of them changes its own copy. Each \
            machine gets a journal of its own, and the records of folders, which are symbolic links, become files. No \
            file is written anew. There is no way back, and version 0.1.0 does not open the vault any more.

            The vault must not be mounted on any machine, and a program that copies it must have brought everything to \
            this one. Machines that have a copy mount it again when the program has brought everything to them. The \
            command may be interrupted at any moment: the vault opens as before, and the same command does the rest. \
            Of a vault that is synchronised already, it says so, and changes nothing.
            """
                + Examples.of("latchkey synchronise ~/Sync/vault"))

    @OptionGroup var credential: CredentialOptions

    @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The folder with the ciphertext.", valueName: "vault"))
    var vault: Path

    func run() throws {
        let word = try VaultWord(vault)
        let path: AbsolutePath
        switch try PathArgument.of(vault) {
        case .mount(let mount):
            let point = mount.status.mountPoint
            throw CommandError(
                .failed,
                "the vault \(mount.status.vault) is mounted, on \(point): it can become a synchronised one only while "
                    + "it is not; nothing was changed",
                try: "latchkey unmount \(point.quoted)")
        case .orphan(let entry): throw SilentMount(entry).error
        case .vault(let found): path = found
        }
        let deviceKeyPath = deviceKey?.path ?? word.named?.keyPath
        let synchronisation = try withKeybag(of: path.path) { () throws(Failure) in
            try VaultSynchronisation(of: path, deviceKeyPath: deviceKeyPath, .ofCommand)
        }
        let wasSynchronised = synchronisation.isSynchronised
        if wasSynchronised {
            guard try withKeybag(of: path.path, synchronisation.isUnfinished) else {
                return Standard.output("The vault \(path.path) is a synchronised one already.")
            }
        } else {
            try begin(synchronisation, path.path, deviceKeyPath)
        }
        let links = try withKeybag(of: path.path, synchronisation.finish)
        try tell(links, of: path.path, isSecondRun: wasSynchronised)
    }

    private func begin(
        _ synchronisation: VaultSynchronisation, _ path: Path, _ deviceKeyPath: Path?
    ) throws(CommandError) {
        let kind = credential.kind(withoutPasscode: synchronisation.hasNoPasscode)
        try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
            let secret = try credential.read(kind, vault: path, deviceKey: deviceKeyPath)
            try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                do throws(Failure) { try synchronisation.begin(Opener(kind, mayBeLast: mayBeLast), secret) } catch {
                    guard case .damaged = error else { throw CommandError(error, of: path) }
                    let words = CommandError(error, of: path)
                    throw CommandError(
                        words.code, "\(words.message); nothing was changed",
                        try: "latchkey fsck --repair \(path.quoted)", "the same again")
                }
            }
        }
    }

    private func tell(_ links: RecordLinks, of path: Path, isSecondRun: Bool) throws(CommandError) {
        if isSecondRun {
            Standard.output("The vault \(path) is a synchronised one; what was left to do is done.")
        } else {
            Standard.output(
                """
                The vault \(path) is a synchronised one: several machines may change it in turns.
                Let the program that copies it bring everything to the other machines before they mount it.
                """)
        }
        guard links.unseen > 0 else { return }
        let reason: Printable =
            switch links.reason {
            case .damaged(let reason)?: "\(Printable(line: reason))"
            case let error?: "\(error.errno)"
            case nil: "unknown"
            }
        throw CommandError(
            .failed,
            "\(Amount.of(links.unseen, "folder")) could not be looked into, and may still have links for records, which "
                + "some programs leave out: \(reason)",
            try: "latchkey fsck \(path.quoted)", "the same again")
    }
}
