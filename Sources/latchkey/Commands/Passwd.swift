import Administration
import ArgumentParser
import Control
import Crypto
import Daemon
import DeviceKeys
import Failure
import Keybag

/// `latchkey passwd`: another passcode for a vault.
struct Passwd: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change the passcode of a vault, mounted or not.",
        discussion: """
            Asks for the old one, if the vault has one, then twice for the new one; from standard input that is no terminal they are two \
            lines. No file is touched: only the keybag is written anew. A forgotten passcode is replaced with the \
            recovery key, by latchkey mount --recovery.
            """)

    @OptionGroup var passcode: PasscodeOptions
    @OptionGroup var newPasscode: NewPasscodeOptions
    @OptionGroup var strength: StrengthOptions
    @OptionGroup var lastTry: LastTryOptions

    @Option(help: ArgumentHelp("Where the device key lies, for a vault that is not mounted.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The mount, a path in it, or the vault.", valueName: "dir"))
    var place: String

    func run() throws {
        let vault: String
        let chosen: Secret
        switch try Place.of(place) {
        case .mount(let mount):
            vault = mount.status.vault
            let kind = oldKind(withoutPasscode: mount.status.hasPasscode == false)
            let old = try readOld(kind)
            let new = try newPasscode.source.readNew(
                .newPasscode, strength, isGuarded: mount.status.deviceKey == DeviceKeyKind.guardedName)
            try lastTry.trying { (mayBeLast) throws(CommandError) in
                let pipes = (old: try inWords(try old.pipe()), new: try inWords(try new.pipe()))
                do throws(Failure) {
                    try mount.client.changePasscode(
                        kind, from: pipes.old, to: pipes.new, allowingWeak: strength.weak, mayBeLast: mayBeLast)
                } catch { throw CommandError(error, at: mount.status.mountPoint) }
            }
            chosen = new
        case .vault(let path):
            vault = path.text
            chosen = try change(path)
        case .orphan(let entry):
            throw SilentMount(entry).error
        }
        Standard.output("The passcode is changed. The recovery key stays as it is.")
        PasscodeAdvice.tell(of: chosen, in: vault)
    }

    /// A vault that has none asks for none.
    private func oldKind(withoutPasscode isOpen: Bool) -> SecretKind {
        isOpen && !passcode.isGiven ? .noPasscode : .passcode
    }

    private func readOld(_ kind: SecretKind) throws(CommandError) -> Secret {
        kind == .noPasscode ? try nothing() : try passcode.source.read(.oldPasscode)
    }

    /// The new one.
    private func change(_ vault: AbsolutePath) throws(CommandError) -> Secret {
        let folder = try withKeybag(of: vault.text) { () throws(Failure) in try VaultFolder(vault) }
        defer { withExtendedLifetime(folder) {} }
        let keybag = try withKeybag(of: vault.text) { () throws(Failure) in
            let volume = try OpenKeybag.inspect(folder.store).volume
            let path = deviceKey?.path ?? DeviceKeyFile.defaultPath(for: volume)
            return try OpenKeybag.open(in: folder.store, deviceKey: DeviceKeyPlace.load(path: path))
        }
        let kind = oldKind(withoutPasscode: keybag.hasNoPasscode)
        let old = try readOld(kind)
        let new = try newPasscode.source.readNew(.newPasscode, strength, isGuarded: keybag.isGuarded)
        try lastTry.trying { (mayBeLast) throws(CommandError) in
            try withKeybag(of: vault.text) { () throws(Failure) in
                try keybag.changePasscode(
                    from: Credential(Opener(kind, mayBeLast: mayBeLast), reading: old), to: new,
                    allowingWeak: strength.weak)
            }
        }
        return new
    }
}
