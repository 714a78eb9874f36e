import Administration
import ArgumentParser
import Control
import Failure
import Posix

/// `latchkey accept`: what is older than what this machine has seen is there on purpose.
struct Accept: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Accept an older keybag that you have put back.",
        discussion: """
            A machine remembers the newest keybag of a vault that it has seen, and refuses an older one, with exit \
            code 6: a person who puts it back may know a passcode that was changed since. After you have restored the \
            vault or its keybag from a copy, this command makes the older keybag the newest one.

            It takes a passcode or key that opens the older keybag and has not been changed since. The vault must not \
            be mounted. A backup of the keybag that "latchkey keybag restore" puts back needs no acceptance.
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
        Standard.output("The keybag of \(vault) is now the newest one that this machine has seen.")
    }
}
