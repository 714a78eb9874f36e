import Format
import Posix
import Store

extension Vault {
    /// Renews the wrap of a file that may be in use. Returns whether it had an old one.
    func renewWrap(of name: Name, in parent: Directory) throws(VaultError) -> Bool {
        let headerWrites = self.flushes.headerWrites.load(ordering: .acquiring)
        let stored = try storedName(name, in: parent).name
        let opened = try openToRenew(stored, in: parent.descriptor)
        guard let descriptor = opened.file else { return false }
        let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
        // An orphan without a header has no key.
        guard status.kind == .regular, try !isVoid(descriptor) else { return false }
        var header = try readHeader(of: descriptor)
        if let file = files[FileIdentity(identifier: header.file, inode: status.inode)] { return try file.renewWrap() }
        if header.pending == nil, try renewed(header.protection, of: header.file) == nil { return false }
        let binding = binding(of: name, in: parent)
        if let found = try self.header(header, of: descriptor, foundAt: binding) {
            // Only an open of the file knows what to do with a name that its header lacks.
            guard !opened.isPinned || header.belongs(at: binding) else { throw .system(.EBUSY) }
            header = found
        } else {
            return try renewWrap(of: descriptor, header, at: nil, status, since: headerWrites)
        }
        if opened.isPinned {
            return try renewWrap(of: descriptor, header.resolved(at: binding), at: binding, status, since: headerWrites)
        }
        return try openFile(name, in: parent).renewWrap()
    }

    /// Opens a file to read its header. If an ordinary user's daemon may neither read the file nor search its folder,
    /// the file is pinned, and open for writing. Nil if it is not a regular file.
    private func openToRenew(
        _ name: Name, in folder: Descriptor
    ) throws(VaultError) -> (file: Descriptor?, isPinned: Bool) {
        do throws(VaultError) {
            let file = try withOwnerPermissions(0o400, of: .entry(name, in: folder)) { () throws(VaultError) in
                try backing { () throws(Errno) in try store.open(name, in: folder, OpenFlags.read, mode: 0) }
            }
            return (file, false)
        } catch {
            guard error == .system(.EACCES) else { throw error }
            return (try openForReplay(name, in: folder), true)
        }
    }

    /// As `renewWrap(of:in:)`, for a file under a foreign name. False if it is not a file of the vault.
    func renewForeignWrap(of name: Name, in folder: Descriptor) throws(VaultError) -> Bool {
        let headerWrites = self.flushes.headerWrites.load(ordering: .acquiring)
        guard let descriptor = try openToRenew(name, in: folder).file else { return false }
        let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
        guard status.kind == .regular else { return false }
        let header: FileHeader
        do throws(VaultError) { header = try readHeader(of: descriptor) } catch {
            guard error.isDamage else { throw error }
            return false
        }
        do throws(VaultError) {
            if header.pending == nil, try renewed(header.protection, of: header.file) == nil { return false }
        } catch {
            // No key of this vault opens the wrap: the file is of another vault, or older than the last rotation.
            guard error.isDamage else { throw error }
            return false
        }
        return try renewWrap(of: descriptor, header, at: nil, status, since: headerWrites)
    }

    /// - Parameters:
    ///   - binding: nil for a file whose header does not name where it was found.
    ///   - headerWrites: how many headers had been written before the file's header was read.
    private func renewWrap(
        of descriptor: Descriptor, _ header: FileHeader, at binding: NameBinding?, _ status: FileStatus,
        since headerWrites: UInt64
    ) throws(VaultError) -> Bool {
        guard header.pending == nil, header.features.canWrite else {
            throw .damaged("a rename of it was interrupted, and its name does not match its header")
        }
        let file = try register(
            File(
                vault: self, descriptor: descriptor, isWritable: false, header: header, isNew: false, status: status),
            at: binding, since: headerWrites)
        return try file.renewWrap()
    }
}
