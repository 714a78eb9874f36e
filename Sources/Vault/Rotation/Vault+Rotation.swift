import Format
import Posix
import Store

extension Vault {
    /// Renews the wrap of a file that may be in use; whether it had an old one.
    func renewWrap(of name: Name, in parent: Directory) throws(VaultError) -> Bool {
        let placements = self.placements.load(ordering: .acquiring)
        let stored = try storedName(name, in: parent).name
        let descriptor = try openBacking(stored, in: parent)
        let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
        // What has no header has no key.
        guard status.kind == .regular, try !isVoid(descriptor) else { return false }
        let header = try readHeader(of: descriptor)
        if let file = files[FileIdentity(identifier: header.file, inode: status.inode)] { return try file.renewWrap() }
        if header.coming == nil, try renewed(header.protection, of: header.file) == nil { return false }
        guard header.belongs(at: place(of: name, in: parent)) else {
            return try renewWrap(of: descriptor, header, status, since: placements)
        }
        return try openFile(name, in: parent).renewWrap()
    }

    /// The same for a file under a name that is not the vault's; false for what is none of the vault's files.
    func renewForeignWrap(of name: Name, in folder: Descriptor) throws(VaultError) -> Bool {
        let placements = self.placements.load(ordering: .acquiring)
        let descriptor = try backing { () throws(Errno) in
            try store.open(name, in: folder, OpenFlags.read, mode: 0)
        }
        let status = try backing { () throws(Errno) in try store.status(of: descriptor) }
        guard status.kind == .regular else { return false }
        let header: FileHeader
        do throws(VaultError) { header = try readHeader(of: descriptor) } catch {
            guard error.isDamage else { throw error }
            return false
        }
        do throws(VaultError) {
            if header.coming == nil, try renewed(header.protection, of: header.file) == nil { return false }
        } catch {
            // By no key of this vault: another one's before the last rotation.
            guard error.isDamage else { throw error }
            return false
        }
        return try renewWrap(of: descriptor, header, status, since: placements)
    }

    /// Of a file that stands where it does not belong.
    ///
    /// - Parameter placements: how many headers had been written before its own was read.
    private func renewWrap(
        of descriptor: Descriptor, _ header: FileHeader, _ status: FileStatus, since placements: UInt64
    ) throws(VaultError) -> Bool {
        guard header.coming == nil, header.features.canWrite else {
            throw .damaged("it stands where it does not belong, in the middle of a rename")
        }
        let file = try enter(
            File(
                vault: self, descriptor: descriptor, isWritable: false, header: header, isNew: false, status: status),
            at: nil, since: placements)
        return try file.renewWrap()
    }
}
