import Administration
import Glibc
import Posix

/// The folder on which a vault is mounted.
struct MountPoint {
    let path: AbsolutePath

    /// Checks everything that can be wrong with it, before the user is asked and the daemon is started.
    init(_ typed: String, for vault: AbsolutePath) throws(CommandError) {
        let mounts = try inWords(try MountTable())
        let perhapsMissing = try inWords(try AbsolutePath(ofPerhapsMissing: typed))
        guard !perhapsMissing.isInside(vault), !vault.isInside(perhapsMissing) else {
            throw CommandError(
                .failed,
                "the mount point \(typed) and the vault \(vault.text) lie in each other: choose another folder")
        }
        do {
            path = try inWords(try AbsolutePath(resolving: typed))
        } catch {
            let entry = mounts.mount(at: AbsolutePath(lexically: typed).text)
            if let entry, entry.isLatchkey { throw Self.isOrphan(typed) }
            var status = stat()
            if unsafe lstat(typed, &status) != 0, Errno.current == .ENOENT {
                throw CommandError(
                    .failed, "the mount point \(typed) does not exist", try: "mkdir -p \(typed.quoted)")
            }
            throw error
        }
        if let entry = mounts.mount(at: path.text) { throw Self.isMounted(typed, entry) }
        let isEmpty: Bool
        do {
            isEmpty = try Descriptor.open(path: path.text, O_RDONLY | O_DIRECTORY).entries().isEmpty
        } catch .ENOTDIR {
            throw CommandError(.failed, "the mount point \(typed) is not a folder")
        } catch {
            throw CommandError(cannot: "look into", typed, error)
        }
        guard isEmpty else {
            throw CommandError(
                .failed, "the mount point \(typed) is not empty: a mount would hide what is in it",
                try: "mkdir a new folder, and latchkey mount \(vault.text.quoted) there")
        }
    }

    private static func isMounted(_ typed: String, _ entry: MountTable.Entry) -> CommandError {
        guard entry.isLatchkey else {
            return CommandError(
                .failed, "\(typed) is a mount already, of type \(entry.type)", try: "findmnt \(typed.quoted)")
        }
        if case .orphan? = try? PathArgument.of(typed) { return isOrphan(typed) }
        return CommandError(
            .failed, "a vault is mounted on \(typed) already", try: "latchkey status \(typed.quoted)")
    }

    private static func isOrphan(_ typed: String) -> CommandError {
        CommandError(
            .failed, "\(typed) is the mount of a daemon that has ended", try: "latchkey unmount \(typed.quoted)")
    }
}
