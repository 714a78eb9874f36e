import Glibc
import Posix
import Store

/// Flags for opening backing files.
package enum OpenFlags {
    // Non-blocking: if an attacker plants a FIFO under a file's name, open(2) must not wait.
    package static let read = O_RDONLY | O_NONBLOCK
    static let write = O_WRONLY | O_NONBLOCK
    package static let readWrite = O_RDWR | O_NONBLOCK
    static let create = O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK
    package static let directory = O_RDONLY | O_DIRECTORY
}

extension Vault {
    /// Writes a small file of the vault's own, in place of an older one or as a new one, as a whole or not at all.
    ///
    /// - Parameter replaced: the file that this one will replace in the end; this one gets another time.
    func writeWholeFile(
        _ bytes: [UInt8], at name: Name, in directory: Descriptor, replacing replaced: Name? = nil
    ) throws(Errno) {
        let temporary = Name.temporary()
        let file = try create(temporary: temporary, in: directory, mode: 0o600)
        do {
            try unsafe store.write(bytes.span.bytes, to: file, at: 0)
            if let replaced { try? store.setTimeApart(of: file, from: replaced, in: directory) }
            try store.synchronize(file, dataOnly: false)
            try store.rename(temporary, in: directory, to: name, in: directory, flags: 0)
        } catch {
            try? store.unlink(temporary, in: directory)
            throw error
        }
    }

    /// Makes a file under a temporary name. If a file has it, an interrupted call has made that: no other process makes
    /// such a name.
    func create(temporary name: Name, in folder: Descriptor, mode: UInt32) throws(Errno) -> Descriptor {
        do throws(Errno) { return try store.open(name, in: folder, OpenFlags.create, mode: mode) } catch {
            guard error == .EEXIST else { throw error }
            try? store.unlink(name, in: folder)
            return try store.open(name, in: folder, OpenFlags.create, mode: mode)
        }
    }

    /// The contents of a small file of the vault's own. If it is longer than `limit` bytes or no regular file, it is
    /// damaged.
    func readAll(_ name: Name, in folder: Descriptor, upTo limit: Int) throws(VaultError) -> [UInt8] {
        let file: Descriptor
        let status: FileStatus
        do throws(Errno) {
            file = try store.open(name, in: folder, OpenFlags.read, mode: 0)
            status = try store.status(of: file)
        } catch {
            // A symbolic link or a socket.
            throw error == .ELOOP || error == .ENXIO ? .damaged(Self.noFile) : .system(error)
        }
        guard status.kind == .regular else { throw .damaged(Self.noFile) }
        guard status.size <= limit else { throw .damaged("one of the vault's own files is too long") }
        return try readAll(file, upTo: limit, expecting: max(0, Int(status.size)))
    }

    /// - Parameter size: what the store says; one that has it from an earlier file may say too little.
    private func readAll(_ file: Descriptor, upTo limit: Int, expecting size: Int) throws(VaultError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: size + 1)
        let count: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try store.read(file, into: &span, at: 0)
        } catch { throw .system(error) }
        guard count > size else { return Array(bytes.prefix(count)) }
        guard size < limit else { throw .damaged("one of the vault's own files is too long") }
        return try readAll(file, upTo: limit, expecting: limit)
    }

    private static let noFile = "one of the vault's own files is not a regular file"
}
