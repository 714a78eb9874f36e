import Administration
import ArgumentParser
import Control
import Failure
import Glibc
import Posix

/// `latchkey unmount`: ends a mount and its daemon.
struct Unmount: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Unmount a vault, and take its keys out of memory.",
        discussion: """
            Returns when the daemon has ended and the vault can be mounted again. With --lazy it returns while \
            programs still use files of the mount: the lock applies to them, and the daemon ends when the last of them \
            has closed its files.
            """ + Examples.of("latchkey unmount ~/private", "latchkey unmount --lazy ~/private"))

    @Flag(help: "Unmount even while programs use the mount: it locks at once, and ends after its last user.")
    var lazy = false

    @Argument(help: ArgumentHelp("The mount, a path in it, or its vault. \(onlyMount)", valueName: "dir"))
    var argument: Path?

    func run() throws { try unmount(PathArgument.of(orOnly: argument)) }

    func unmount(_ found: PathArgument) throws {
        switch found {
        case .mount(let mount): try unmount(mount)
        case .orphan(let entry):
            let silent = SilentMount(entry)
            // A stopped daemon would stay with its keys in memory, and no command would find it.
            guard !silent.isStopped else { throw silent.error }
            try detach(entry.mountPoint)
        case .vault(let vault): throw CommandError(.notFound, "the vault \(vault.path) is not mounted")
        }
    }

    private func unmount(_ mount: ServedMount) throws(CommandError) {
        let point = mount.status.mountPoint
        do {
            try unmountAtTheServer(mount)
            if lazy || mount.status.ending == true { return try tellUsers(of: mount) }
            guard try hasEnded(mount), Process.waitUntilEnded(pid_t(clamping: mount.status.pid)) else {
                throw CommandError(
                    .failed,
                    """
                    \(point) is unmounted, but its daemon, process \(mount.status.pid), still runs: it is still \
                    writing data, or the mount still exists elsewhere, by mount --bind or in another mount namespace
                    """, try: "latchkey lock --now \(mount.status.vault.quoted)",
                    "grep -lwF \(point.quoted) /proc/[0-9]*/mountinfo")
            }
        } catch let error as Failure {
            throw CommandError(error, at: point)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(.failed, "\(error)")
        }
    }

    /// Asks the daemon to unmount. A mount that is in use by no process that can be found is tried again, for about a
    /// second: a program that ends, or that looks at a file in passing, lets go a moment later.
    private func unmountAtTheServer(_ mount: ServedMount) throws {
        for tries in 1... {
            do throws(Failure) { return try mount.client.unmount(lazily: lazy) } catch .busy {} catch { throw error }
            let point = mount.status.mountPoint
            let found = try Holders(of: mount)
            guard found.holders.isEmpty, Self.innerMount(of: point) == nil, tries < 20 else {
                throw Self.busy(point, found.holders.isEmpty ? [] : found.lines)
            }
            usleep(50_000)
        }
    }

    private static func innerMount(of point: Path) -> Path? {
        ((try? MountTable())?.entries ?? []).last { $0.mountPoint.lies(in: point) }?.mountPoint
    }

    /// Why a mount cannot be unmounted: a mount below it, or the processes that use it.
    ///
    /// - Parameter users: a line for each process, or none; nil if the mount has no daemon that could be asked.
    private static func busy(_ point: Path, _ users: [Printable]? = nil) -> CommandError {
        let lazily: Printable = "latchkey unmount --lazy \(point.quoted)"
        if let inner = innerMount(of: point) {
            return CommandError(
                .failed, "\(point) is in use: \(inner) is mounted in it", try: "umount \(inner.quoted)", lazily)
        }
        let mounts = users == nil ? try? MountTable() : nil
        let device = mounts?.entries.last { $0.mountPoint == point }?.device
        let scan = device.flatMap { try? HolderScan(devices: [$0]) }
        let found = users ?? (scan.map { $0.processes.isEmpty ? [] : $0.lines } ?? [])
        guard !found.isEmpty else {
            let all: Printable = geteuid() == 0 ? "" : "sudo "
            return CommandError(
                .failed,
                """
                \(point) is in use, by a program that has just ended, that this user may not see, or that is in \
                another mount namespace, such as a container's
                """, try: "latchkey unmount \(point.quoted)", "\(all)latchkey status --holders \(point.quoted)", lazily)
        }
        let text = found.map { "\n  \($0)" as Printable }.joined()
        return CommandError(
            .failed, "\(point) is in use:\(text)", try: "latchkey unmount \(point.quoted)   (after they have ended)",
            lazily)
    }

    /// Waits until the daemon has ended, which first writes what is dirty. At a terminal, shows that it waits.
    private func hasEnded(_ mount: ServedMount) throws(Failure) -> Bool {
        if try mount.client.waitForEnd(seconds: 1) { return true }
        if isatty(STDERR_FILENO) == 1 {
            Standard.error("Waiting for the daemon of \(mount.status.mountPoint), process \(mount.status.pid), to end.")
        }
        return try mount.client.waitForEnd(seconds: 29)
    }

    /// A mount that was detached from the tree may go on as long as programs use it: names those programs.
    private func tellUsers(of mount: ServedMount) throws {
        // If the daemon has ended, there is nothing to report.
        guard try !mount.client.waitForEnd(seconds: 1) else { return }
        guard let ending = PathArgument.mount(again: mount.status) else { return }
        let users = try Holders(of: ending).lines.map { "  \($0)" as Printable }.joined(separator: "\n")
        let status = mount.status
        let text: Printable =
            "\(status.mountPoint) is ending: its daemon, process \(status.pid), serves the programs that use its files:"
        guard lazy else {
            throw CommandError(
                .failed, "\(text)\n\(users)", try: "latchkey lock --now \(status.vault.quoted)")
        }
        Standard.output("\(text)\n\(users)")
    }

    /// Unmounts a mount whose daemon is dead: by umount2(2) for root, by fusermount3 for other users.
    private func detach(_ mountPoint: Path) throws(CommandError) {
        if mountPoint.unmount(lazy ? Int32(MNT_DETACH) : 0) == 0 { return }
        let errno = Errno.current
        guard errno == .EPERM else {
            if errno == .EBUSY { throw Self.busy(mountPoint) }
            throw CommandError(cannot: "unmount", mountPoint, errno)
        }
        let arguments: [Path] = ["-u"] + (lazy ? ["-z"] : []) + ["--", mountPoint]
        guard try Process.run("fusermount3", arguments) == 0 else {
            throw CommandError(.failed, "cannot unmount \(mountPoint)", try: "sudo umount \(mountPoint.quoted)")
        }
    }
}
