import Glibc
import Posix

/// Where a program lies, and whether this user may trust it.
enum ProgramPath {
    /// The first one that PATH has; a name with a slash is a path already. Nil if there is none.
    static func find(_ name: Path) -> Path? {
        if name.bytes.contains(UInt8(ascii: "/")) { return name }
        guard let folders = AskingSurroundings.variable("PATH") else { return nil }
        return folders.bytes.split(separator: UInt8(ascii: ":")).lazy
            .map { Path(bytes: $0) + "/" + name }
            .first { path in path.hasPrefix("/") && path.access(X_OK) == 0 }
    }

    /// Why root does not run the program: another user can change it, as what an environment names that another user
    /// has left to root. Nil if only root can, for any other user, and for a program that cannot be found.
    static func objection(to program: Path) -> Printable? {
        guard geteuid() == 0, var path = try? program.resolved() else { return nil }
        while true {
            var status = stat()
            guard path.status(&status) == 0 else { return nil }
            guard status.st_uid == 0 else { return "\(path) belongs to user \(status.st_uid)" }
            // In a folder with the sticky bit, users change only what is theirs.
            let isSticky = status.st_mode & (S_IFMT | S_ISVTX) == S_IFDIR | S_ISVTX
            guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 || isSticky else {
                return "other users can write to \(path)"
            }
            guard path != "/", let slash = path.bytes.lastIndex(of: UInt8(ascii: "/")) else { return nil }
            path = slash == 0 ? "/" : Path(bytes: path.bytes[..<slash])
        }
    }
}
