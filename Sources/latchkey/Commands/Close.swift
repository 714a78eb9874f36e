import ArgumentParser
import Control
import Failure
import Posix

/// `latchkey close`: locks at once, and unmounts.
struct Close: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lock a vault at once, and unmount it.",
        discussion: """
            Locks without the grace period, then unmounts as latchkey unmount does. While programs use the mount, it \
            stays, but it is locked.
            """ + Examples.of("latchkey close work", "latchkey close ~/work"))

    @Flag(help: "Unmount even while programs use the mount: it ends after its last user.")
    var lazy = false

    @Argument(
        help: ArgumentHelp(
            "The name of a vault, the mount, a path in it, or its vault. \(onlyMount)", valueName: "name"))
    var argument: Path?

    func run() throws {
        let found = try PathArgument.of(orOnly: argument)
        if case .mount(let mount) = found {
            do throws(Failure) { _ = try mount.client.lock(now: true) } catch {
                throw CommandError(error, at: mount.status.mountPoint)
            }
        }
        try Unmount.parse(lazy ? ["--lazy"] : []).unmount(found)
    }
}
