import ArgumentParser
import Control
import Glibc
import Posix

/// `latchkey unmount`: ends a mount and its daemon.
struct Unmount: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Unmount a vault; its keys leave memory.",
        discussion: "Returns when the daemon has ended and the vault can be mounted again.")

    @Flag(help: "Even while it is in use: it disappears at once, and ends when its last user has gone.")
    var lazy = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault.", valueName: "dir"))
    var place: String

    func run() throws {
        switch try Place.of(place) {
        case .mount(let mount): try unmount(mount)
        case .orphan(let entry): try detach(entry.mountPoint)
        case .vault(let vault): throw CommandError(.notFound, "the vault \(vault.text) is not mounted")
        }
    }

    private func unmount(_ mount: ServedMount) throws(CommandError) {
        let point = mount.status.mountPoint
        do {
            try mount.client.unmount(lazily: lazy)
            // A lazy one may go on for as long as its users like.
            guard !lazy else { return }
            guard try mount.client.waitForEnd(seconds: 30), Process.waitUntilEnded(pid_t(mount.status.pid)) else {
                throw CommandError(
                    .failed, "\(point) is unmounted, but its daemon, process \(mount.status.pid), still runs",
                    try: "latchkey status")
            }
        } catch let error as ControlError {
            throw CommandError(error, at: point)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(.failed, "\(error)")
        }
    }

    /// Takes away a mount that a daemon has left behind: by the kernel for root, by fusermount3 for others.
    private func detach(_ mountPoint: String) throws(CommandError) {
        if unsafe umount2(mountPoint, lazy ? Int32(MNT_DETACH) : 0) == 0 { return }
        let errno = Errno.current
        guard errno == .EPERM else {
            if errno == .EBUSY { throw CommandError(.busy, at: mountPoint) }
            throw CommandError(cannot: "unmount", mountPoint, errno)
        }
        let arguments = ["-u"] + (lazy ? ["-z"] : []) + ["--", mountPoint]
        guard try Process.run("fusermount3", arguments) == 0 else {
            throw CommandError(.failed, "cannot unmount \(mountPoint)", try: "sudo umount \(mountPoint.quoted)")
        }
    }
}
