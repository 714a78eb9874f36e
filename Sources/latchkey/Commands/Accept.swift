import Administration
import ArgumentParser
import Control
import Failure
import Posix

/// `latchkey accept`: what is older than what this machine has seen is there on purpose.
struct Accept: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Go on with a vault that you have restored, and whose keybag is older.",
        discussion: """
            A machine remembers the newest keybag of a vault that it has seen, and refuses an older one, with exit \
            code 6: a person who puts it back may know a passcode that was changed since. After you have restored the \
            vault from a copy, this command puts the newest keybag in its place. What was changed or removed since \
            the copy stays so.

            It takes what opens the vault now: a passcode, a key, or the recovery key. The vault must not be mounted. \
            To read a backup beside the vault, mount it with -o ro: nothing has to be accepted then. What was made by \
            "latchkey keybag restore" or "latchkey mount --recovery" needs no acceptance.
            """
                + Examples.of("latchkey accept --keybag ~/vault", "latchkey accept --keybag --recovery ~/vault"))

    @Flag(help: "Accept the keybag.")
    var keybag = false

    @OptionGroup var credential: CredentialOptions

    @Option(help: ArgumentHelp("Path of the device key.", valueName: "path"))
    var deviceKey: DeviceKeyArgument?

    @Argument(help: ArgumentHelp("The folder with the ciphertext.", valueName: "vault"))
    var vault: Path

    func validate() throws {
        guard keybag else { throw ValidationError("Say what to accept: --keybag.") }
    }

    func run() throws {
        let word = try VaultWord(vault, destroys: true)
        let path = try inWords(try AbsolutePath(resolving: word.vaultPath))
        let deviceKeyPath = deviceKey?.path ?? word.named?.keyPath
        let acceptance = try withKeybag(of: vault) { () throws(Failure) in
            try KeybagAcceptance(of: path, deviceKeyPath: deviceKeyPath, .ofCommand)
        }
        let kind = credential.kind(withoutPasscode: acceptance.hasNoPasscode)
        try PasscodeTries.repeating(credential.asks(kind)) { () throws(CommandError) in
            let secret = try credential.read(kind, vault: path.path, deviceKey: deviceKeyPath)
            try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
                try withKeybag(of: vault) { () throws(Failure) in
                    try acceptance.run(Opener(kind, mayBeLast: mayBeLast), secret)
                }
            }
        }
        Standard.output(
            "\(vault) has the newest keybag that this machine has seen: what opened it before opens it again.")
    }
}
