import Foundation
internal import Posix

extension URL {
    /// The protection class of a file, or the one that a folder gives to new files; nil where there is no protection:
    /// outside Latchkey mounts, and for what is neither file nor folder.
    ///
    /// Works while locked. Follows symbolic links. Throws `mountEnded`, `noAnswer`, or `system` if there is no such file.
    public var fileProtection: FileProtectionType? {
        get throws {
            guard isFileURL else { return nil }
            return try FileManager.default.fileProtection(ofItemAtPath: path)
        }
    }

    /// Sets the protection class of a file, or the one that a folder gives to files made in it from then on.
    ///
    /// Contents that were written before keep their key, which the new class wraps. Throws `notProtected` outside
    /// Latchkey mounts, `locked` if a key that this needs is away, `system` with EPERM for another user's file.
    public func setFileProtection(_ protection: FileProtectionType) throws {
        try FileManager.default.setFileProtection(protection, ofItemAtPath: protectedPath)
    }
}

extension FileManager {
    /// The protection class of what lies at a path, as `URL.fileProtection` answers it.
    public func fileProtection(ofItemAtPath path: String) throws -> FileProtectionType? {
        guard let item = try ProtectedItem(path: path) else { return nil }
        return try DataProtectionError.at(path) { () throws(Errno) in try item.protection() }
    }

    /// Sets the protection class of what lies at a path, as `URL.setFileProtection` does.
    public func setFileProtection(_ protection: FileProtectionType, ofItemAtPath path: String) throws {
        let value = try protection.attributeValue()
        guard let item = try ProtectedItem(path: path), [.regular, .directory].contains(item.status.kind) else {
            throw DataProtectionError.notProtected(path: path)
        }
        try DataProtectionError.at(path) { () throws(Errno) in try item.file.setProtection(value) }
    }
}
