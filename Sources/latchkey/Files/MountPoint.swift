import Administration
import Glibc
import Posix

/// The folder on which a vault is mounted.
struct MountPoint {
    let path: AbsolutePath

    /// Checks everything that can be wrong with it, before the user is asked and the daemon is started.
    ///
    /// - Parameter isGuarded: whether Latchkey may look into a folder that it has closed.
    init(_ typed: Path, for vault: AbsolutePath, isGuarded: Bool) throws(CommandError) {
        let mounts = try inWords(try MountTable())
        let perhapsMissing = try inWords(try AbsolutePath(ofPerhapsMissing: typed))
        guard !perhapsMissing.isInside(vault), !vault.isInside(perhapsMissing) else {
            throw CommandError(
                .failed,
                "the mount point \(typed) and the vault \(vault.path) lie in each other: choose another folder")
        }
        do {
            path = try inWords(try AbsolutePath(resolving: typed))
        } catch {
            let entry = mounts.mount(at: AbsolutePath(lexically: typed).path)
            if let entry, entry.isLatchkey { throw Self.isOrphan(typed) }
            var status = stat()
            if typed.linkStatus(&status) != 0, Errno.current == .ENOENT {
                throw CommandError(
                    .failed, "the mount point \(typed) does not exist", try: "mkdir -p \(typed.quoted)")
            }
            throw error
        }
        if let entry = mounts.mount(at: path.path) {
            // x-systemd.automount: the folder is empty, and to look into it would wait for the mount that this makes.
            guard entry.type == "autofs" else { throw Self.isMounted(typed, entry) }
            guard !isGuarded else {
                throw CommandError(
                    .failed, "the mount point \(typed) cannot be closed: systemd mounts on it at the first access",
                    try: "the same with --no-guard-mount-point")
            }
            return
        }
        if isGuarded, geteuid() != 0, (try? Descriptor.open(path: path.path, O_PATH).status().owner) != geteuid() {
            throw CommandError(
                .failed,
                "the mount point \(typed) cannot be closed while nothing is mounted on it: it is another user's",
                try: "the same with --no-guard-mount-point")
        }
        let isEmpty: Bool
        do {
            isEmpty =
                isGuarded
                ? try BareMountPoint(path.path).isEmpty()
                : try Descriptor.open(path: path.path, O_RDONLY | O_DIRECTORY).entries().isEmpty
        } catch .ENOTDIR {
            throw CommandError(.failed, "the mount point \(typed) is not a folder")
        } catch .EACCES where BareMountPoint.isClosed(path.path) {
            throw CommandError(
                .failed, "the mount point \(typed) is closed: its mode is 0",
                try: "the same with --guard-mount-point   (if latchkey has closed it)")
        } catch {
            throw CommandError(cannot: "look into", typed, error)
        }
        guard isEmpty else {
            throw CommandError(
                .failed, "the mount point \(typed) is not empty: a mount would hide what is in it",
                try: "mkdir a new folder, and latchkey mount \(vault.path.quoted) there")
        }
    }

    private static func isMounted(_ typed: Path, _ entry: MountTable.Entry) -> CommandError {
        guard entry.isLatchkey else {
            return CommandError(
                .failed, "\(typed) is a mount already, of type \(entry.type)", try: "findmnt \(typed.quoted)")
        }
        if case .orphan = PathArgument.served(entry) { return isOrphan(typed) }
        return CommandError(
            .failed, "a vault is mounted on \(typed) already", try: "latchkey status \(typed.quoted)")
    }

    private static func isOrphan(_ typed: Path) -> CommandError {
        CommandError(
            .failed, "\(typed) is the mount of a daemon that has ended", try: "latchkey unmount \(typed.quoted)")
    }
}
