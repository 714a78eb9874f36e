import Crypto
import Glibc
import Posix

/// A device key on its way to its place: a file beside that, whose name is always the same, so that what a killed program has left of it
/// is found again. It belongs to one process at a time, by flock(2).
struct TemporaryKeyFile {
    let name: Name
    let file: Descriptor

    /// Nil if that name would be too long.
    static func name(for key: Name) -> Name? { Name(bytes: Array(".".utf8) + key.bytes + Array(".new".utf8)) }

    /// An empty file of mode 0600.
    ///
    /// - Throws: EWOULDBLOCK if another process is at work on it.
    init(for key: Name, in folder: Descriptor) throws(Errno) {
        guard let name = Self.name(for: key) else { throw .ENAMETOOLONG }
        (self.name, file) = (name, try Self.open(name, in: folder))
    }

    private static func open(_ name: Name, in folder: Descriptor) throws(Errno) -> Descriptor {
        while true {
            let file = try folder.open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
            let status = try file.status()
            guard status.kind == .regular else { throw .EEXIST }
            try file.lockExclusively()
            // Whoever had it has perhaps removed it, or put it in its place, before he let go.
            guard let there = try? folder.status(of: name), there.inode == status.inode else { continue }
            if status.linkCount > 1 {
                // It is in its place already, by another name.
                try folder.unlink(name)
                continue
            }
            try wipe(file)
            return file
        }
    }

    /// Writes over what is in it, and removes it.
    func remove(from folder: Descriptor) {
        if (try? file.status().linkCount) == 1 { try? Self.wipe(file) }
        try? folder.unlink(name)
    }

    private static func wipe(_ file: Descriptor) throws(Errno) {
        let size = try file.status().size
        guard size > 0 else { return }
        try unsafe file.write(Random.bytes(min(Int(size), 4096)).span.bytes, at: 0)
        try file.synchronize(dataOnly: false)
        try file.truncate(to: 0)
    }
}
