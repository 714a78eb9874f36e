import Crypto
import Glibc
import Posix

/// A temporary file beside the device key file, which takes its name. Its own name is fixed, so that the next process
/// finds what a killed one has left. One process at a time owns it, by flock(2).
struct TemporaryKeyFile {
    let name: Name
    let file: Descriptor

    /// Nil if that name would be too long.
    static func name(for key: Name) -> Name? { Name(bytes: Array(".".utf8) + key.bytes + Array(".new".utf8)) }

    /// Makes the file, empty and with mode 0600.
    ///
    /// - Throws: EWOULDBLOCK if another process owns it.
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
            // Before it dropped the lock, the previous owner may have removed the file or renamed it.
            guard let there = try? folder.status(of: name), there.inode == status.inode else { continue }
            if status.linkCount > 1 {
                // A hard link already gave it its final name.
                try folder.unlink(name)
                continue
            }
            try wipe(file)
            return file
        }
    }

    /// Overwrites and removes the file.
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
