import Foundation
internal import Posix

extension URL {
    /// The protection class of a file, or of new files in a folder; nil outside of Latchkey mounts, and for objects
    /// that are neither file nor folder.
    ///
    /// Works while locked. Follows symbolic links. Throws `mountEnded`, `noAnswer`, or `system` if there is no such
    /// file.
    public var fileProtection: FileProtectionType? {
        get throws {
            guard isFileURL else { return nil }
            return try FileManager.default.fileProtection(ofItemAtPath: path)
        }
    }

    /// Sets the protection class of a file, or of files created later in a folder.
    ///
    /// Existing contents keep their key, which the new class wraps. Throws `notProtected` outside of Latchkey mounts,
    /// `locked` if a required key is not in memory, `system` with EPERM for another user's file.
    public func setFileProtection(_ protection: FileProtectionType) throws {
        try FileManager.default.setFileProtection(protection, ofItemAtPath: protectedPath)
    }
}

extension FileManager {
    /// The protection class of the file or folder at a path, as `URL.fileProtection`.
    public func fileProtection(ofItemAtPath path: String) throws -> FileProtectionType? {
        guard let item = try ProtectedItem(path: path) else { return nil }
        return try DataProtectionError.at(path) { () throws(Errno) in try item.protection() }
    }

    /// Sets the protection class of the file or folder at a path, as `URL.setFileProtection`.
    public func setFileProtection(_ protection: FileProtectionType, ofItemAtPath path: String) throws {
        let value = try protection.attributeValue()
        guard let item = try ProtectedItem(path: path), [.regular, .directory].contains(item.status.kind) else {
            throw DataProtectionError.notProtected(path: path)
        }
        try DataProtectionError.at(path) { () throws(Errno) in try item.file.setProtection(value) }
    }
}
