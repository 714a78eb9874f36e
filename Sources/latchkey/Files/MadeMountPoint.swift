import Administration
import Glibc
import Posix

/// A mount point that did not exist before.
struct MadeMountPoint {
    private let path: Path

    /// Makes the folder, with mode 0, and those above it; nil if it exists.
    init?(_ path: Path) throws(CommandError) {
        self.path = path
        guard path.access(F_OK) != 0, Errno.current == .ENOENT else { return nil }
        if let parent = AbsolutePath(known: path).parent { try makeFolders(parent.path, "make the mount point") }
        guard path.mkdir(0) == 0 else { throw CommandError(cannot: "make the mount point", path, .current) }
    }

    /// A folder that this process has made before it executed itself again.
    init(already path: Path) { self.path = path }

    func close() throws(Errno) { try BareMountPoint(path).close() }

    /// Removes the folder, if nothing is mounted on it.
    func remove() { _ = path.rmdir() }
}

/// Makes a folder and those above it that are missing, with mode 0700.
func makeFolders(_ path: Path, _ doing: Printable) throws(CommandError) {
    var folder: Path = ""
    for part in path.components {
        folder = folder + "/" + Path(bytes: part)
        guard folder.mkdir(0o700) != 0 else { continue }
        let error = Errno.current
        // mkdir(2) of a folder that exists may fail in other ways too, as on a read-only file system.
        guard folder.access(F_OK) != 0 else { continue }
        throw CommandError(cannot: doing, path, error)
    }
}
