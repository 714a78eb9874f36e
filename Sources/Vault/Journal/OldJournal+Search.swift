import Format
import Posix
import Store

// Finding what the records of a journal are about.

extension Vault {
    /// The folder at a backing path, nil if there is none any more.
    func openFolderForReplay(_ path: [UInt8]) throws(VaultError) -> Descriptor? {
        var folder = store.root
        for component in path.split(separator: UInt8(ascii: "/")) {
            guard let name = Name(bytes: Array(component)) else { return nil }
            do throws(Errno) {
                folder = try store.open(name, in: folder, OpenFlags.directory, mode: 0)
            } catch {
                guard error == .ENOENT || error == .ENOTDIR || error == .ELOOP else { throw .system(error) }
                return nil
            }
        }
        return folder
    }

    /// The file at a backing path, nil if there is none any more.
    func openForReplay(_ path: [UInt8]) throws(VaultError) -> Descriptor? {
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        guard let folder = try openFolderForReplay(Array(path[..<(slash ?? 0)])),
            let name = Name(bytes: Array(path[(slash.map { $0 + 1 } ?? 0)...]))
        else { return nil }
        do throws(VaultError) {
            return try withOwnerPermissions(0o600, of: .entry(name, in: folder)) { () throws(VaultError) in
                try backing { () throws(Errno) in
                    guard try store.status(of: name, in: folder).kind == .regular else { return nil }
                    return try store.open(name, in: folder, isReadOnly ? OpenFlags.read : OpenFlags.readWrite, mode: 0)
                }
            }
        } catch {
            guard error == .system(.ENOENT) else { throw error }
            return nil
        }
    }

    /// What a cut leaves of a file whose header never came to the disk.
    func isVoid(_ file: Descriptor) throws(VaultError) -> Bool {
        var bytes = [UInt8](repeating: 0, count: FileHeader.byteCount)
        let count: Int
        do {
            var elements = bytes.mutableSpan
            var span = unsafe elements.mutableBytes
            count = try store.read(file, into: &span, at: 0)
        } catch { throw .system(error) }
        return count < FileHeader.byteCount || bytes.allSatisfy { $0 == 0 }
    }
}

/// Looks for a file by what it is, where nobody could tell its path: in all of the vault.
struct Walk {
    let vault: Vault

    func find(_ file: FileIdentifier) throws(VaultError) -> (descriptor: Descriptor, header: FileHeader)? {
        var match: (descriptor: Descriptor, header: FileHeader)?
        try search(vault.store.root) { (descriptor, header) in
            if header.file == file { match = (descriptor, header) }
            return match == nil
        }
        return match
    }

    private func search(
        _ folder: Descriptor, _ visit: (Descriptor, FileHeader) -> Bool
    ) throws(VaultError) {
        for entry in try vault.backingEntries(of: folder) {
            switch BackingName(entry.name.bytes) {
            case .entry, .longEntry: break
            default: continue
            }
            let kind = try? vault.store.status(of: entry.name, in: folder).kind
            if kind == .directory {
                if let inner = try? vault.openFolder(entry.name, in: folder) { try search(inner, visit) }
            } else if kind == .regular,
                let descriptor = try? vault.store.open(
                    entry.name, in: folder, vault.isReadOnly ? OpenFlags.read : OpenFlags.readWrite, mode: 0),
                let header = try? vault.readHeader(of: descriptor)
            {
                guard visit(descriptor, header) else { return }
            }
        }
    }
}
