import Administration
import ArgumentParser
import Control
import DeviceKeys
import Failure

/// `latchkey unlock`: brings the class keys into the daemon's memory.
struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Unlock a mount: all files can be read again.",
        discussion: """
            The passcode is asked for at the terminal; without a terminal it is one line of standard input. An unlock \
            during the grace period cancels the lock. A wrong passcode changes nothing; the exit code is 3.
            """)

    @OptionGroup var credential: CredentialOptions

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault.", valueName: "dir"))
    var argument: String

    func run() throws {
        let mount = try PathArgument.mount(of: argument)
        let kind = credential.kind(withoutPasscode: mount.status.hasPasscode == false)
        let secret = try credential.read(kind, vault: mount.status.vault)
        try credential.lastTry.trying { (mayBeLast) throws(CommandError) in
            let pipe = try inWords(try secret.pipe())
            do throws(Failure) { _ = try mount.client.unlock(kind, secret: pipe, mayBeLast: mayBeLast) } catch {
                throw CommandError(error, at: mount.status.mountPoint)
            }
        }
        DeviceKeyExposure(of: mount)?.warn()
    }
}
