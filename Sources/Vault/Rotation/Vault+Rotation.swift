import Format
import Posix
import Store

extension Vault {
    /// Renews the wrap of a file that may be in use; whether it had an old one.
    func renewWrap(of name: Name, in parent: Directory) throws(VaultError) -> Bool {
        let headerWrites = self.headerWrites.load(ordering: .acquiring)
        let stored = try storedName(name, in: parent).name
        let opened = try openToRenew(stored, in: parent.descriptor)
        guard let descriptor = opened.file else { return false }
        let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
        // What has no header has no key.
        guard status.kind == .regular, try !isVoid(descriptor) else { return false }
        let header = try readHeader(of: descriptor)
        if let file = files[FileIdentity(identifier: header.file, inode: status.inode)] { return try file.renewWrap() }
        if header.pending == nil, try renewed(header.protection, of: header.file) == nil { return false }
        let binding = binding(of: name, in: parent)
        guard header.belongs(at: binding) else {
            return try renewWrap(of: descriptor, header, at: nil, status, since: headerWrites)
        }
        if opened.isPinned {
            return try renewWrap(of: descriptor, header.resolved(at: binding), at: binding, status, since: headerWrites)
        }
        return try openFile(name, in: parent).renewWrap()
    }

    /// Opens a file to look at its header, also for an ordinary user one that its owner may not read, in a folder in
    /// which he may not look for it: then it is pinned, and open for writing. Nil for what is no regular file.
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

    /// The same for a file under a name that is not the vault's; false for what is none of the vault's files.
    func renewForeignWrap(of name: Name, in folder: Descriptor) throws(VaultError) -> Bool {
        let headerWrites = self.headerWrites.load(ordering: .acquiring)
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
            // By no key of this vault: another one's before the last rotation.
            guard error.isDamage else { throw error }
            return false
        }
        return try renewWrap(of: descriptor, header, at: nil, status, since: headerWrites)
    }

    /// - Parameters:
    ///   - binding: nil for a file that stands where it does not belong.
    ///   - headerWrites: how many headers had been written before its own was read.
    private func renewWrap(
        of descriptor: Descriptor, _ header: FileHeader, at binding: NameBinding?, _ status: FileStatus,
        since headerWrites: UInt64
    ) throws(VaultError) -> Bool {
        guard header.pending == nil, header.features.canWrite else {
            throw .damaged("it stands where it does not belong, in the middle of a rename")
        }
        let file = try register(
            File(
                vault: self, descriptor: descriptor, isWritable: false, header: header, isNew: false, status: status),
            at: binding, since: headerWrites)
        return try file.renewWrap()
    }
}
