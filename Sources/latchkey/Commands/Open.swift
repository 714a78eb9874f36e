import Administration
import ArgumentParser
import Control
import DeviceKeys
import Failure
import Keybag
import Posix
import Store
import VaultNames

/// `latchkey open`: mounts and unlocks a named vault.
struct Open: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Mount and unlock a vault of the configuration.",
        discussion: """
            Makes the mount point if it is missing, mounts the vault as the configuration says, and unlocks it. What \
            is done already is not done again: an open vault stays open, and nothing is asked. A wrong passcode \
            changes nothing; the exit code is 3. latchkey close locks and unmounts.
            """ + Examples.of("latchkey open work"))

    @OptionGroup var credential: CredentialOptions

    @Argument(
        help: ArgumentHelp("The name of a vault: latchkey list shows them.", valueName: "name"),
        transform: textOnly)
    var name: String

    func run() throws {
        guard case .named(let vault) = try VaultWord(Path(name)) else {
            throw CommandError(
                .notFound, "no vault has the name \(name) in \(UserFolders().namedVaults)", try: "latchkey list",
                "latchkey mount --unlock VAULT DIR")
        }
        switch try PathArgument.of(vault) {
        case .orphan(let entry): throw SilentMount(entry).error
        case .vault: try mount(vault)
        case .mount(let mount) where mount.status.ending == true: try self.mount(vault)
        case .mount(let mount):
            guard mount.status.state != .unlocked else {
                return Standard.output("\(name) is open already, on \(mount.status.mountPoint).")
            }
            try credential.filled(from: vault, isOpen: mount.status.hasPasscode == false).unlock(mount)
            tell(mount.status.mountPoint)
        }
    }

    /// Mounts it unlocked, or not at all.
    private func mount(_ vault: NamedVault) throws {
        let plain = try Mount.parse(["--", name])
        let hasNoPasscode = (try? OpenKeybag.inspect(DirectoryStore(path: vault.folderPath)))?.hasNoPasscode ?? false
        let credential = credential.filled(from: vault, isOpen: hasNoPasscode)
        let kind = credential.kind(withoutPasscode: hasNoPasscode)
        do {
            let opener = kind == .noPasscode ? nil : kind
            try plain.open(opener, isAsked: credential.asks(kind), credential.lastTry) { () throws(CommandError) in
                try credential.read(kind, vault: vault.folderPath, deviceKey: vault.keyPath)
            }
        } catch let error as CommandError where error.code == .wrongPasscode && error.lastTryOf == nil {
            throw CommandError(error.code, error.message, try: "latchkey open \(name.quoted)")
        }
        tell(vault.point)
    }

    private func tell(_ mountPoint: Path) { Standard.output("\(name) is open, on \(mountPoint).") }
}

extension CredentialOptions {
    /// The same with the passcode's command of the configuration, if nothing was typed.
    ///
    /// - Parameter isOpen: the vault has no passcode.
    func filled(from named: NamedVault?, isOpen: Bool) -> CredentialOptions {
        guard !isGiven, !isOpen, let command = named?.passcodeCommand else { return self }
        var filled = self
        filled.passcode.passcodeCommand = command
        return filled
    }

    /// Unlocks a mount with what the options say.
    func unlock(_ mount: ServedMount) throws(CommandError) {
        let kind = kind(withoutPasscode: mount.status.hasPasscode == false)
        try PasscodeTries.repeating(asks(kind)) { () throws(CommandError) in
            let secret = try read(kind, vault: mount.status.vault)
            try lastTry.trying { (mayBeLast) throws(CommandError) in
                let pipe = try inWords(try secret.pipe())
                do throws(Failure) { _ = try mount.client.unlock(kind, secret: pipe, mayBeLast: mayBeLast) } catch {
                    throw CommandError(error, at: mount.status.mountPoint)
                }
            }
        }
        DeviceKeyExposure(of: mount)?.warn()
    }
}
