internal import Control
import Foundation
internal import Format
internal import Glibc
internal import Posix

/// A file or folder in a mount whose daemon serves this user, by a descriptor that needs no key.
///
/// Any file system would store an attribute with the name of the class. So the device of the open file itself must be
/// one that a daemon claims to serve, on a socket that only this user or root can have created.
struct ProtectedItem {
    let path: String
    let file: Descriptor
    let status: FileStatus
    let client: ControlClient
    let mountStatus: Status

    /// Follows symbolic links. Nil if the file is in no such mount.
    init?(path: String) throws(DataProtectionError) {
        let file = try DataProtectionError.at(path) { () throws(Errno) in try Descriptor.open(path: path, O_PATH) }
        try self.init(file, path: path)
    }

    /// As above, for an open file.
    init?(_ file: Descriptor, path: String) throws(DataProtectionError) {
        let status = try DataProtectionError.at(path) { () throws(Errno) in try file.status() }
        guard let found = SocketDirectories.reachable.mount(device: status.device) else { return nil }
        (self.path, self.file, self.status) = (path, file, status)
        (client, mountStatus) = (found.client, found.status)
    }

    /// Nil for an object without a class: neither a file nor a folder.
    func protection() throws(Errno) -> FileProtectionType? {
        do throws(Errno) {
            return try file.protection()
        } catch .ENODATA {
            return nil
        }
    }
}

extension Descriptor {
    /// The class; `self` must be in a mount.
    func protection() throws(Errno) -> FileProtectionType {
        let value = try attribute(ProtectionClass.attributeName)
        guard let found = ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self)) else { throw .EINVAL }
        return FileProtectionType(found)
    }

    func setProtection(_ value: [UInt8]) throws(Errno) {
        try setAttribute(ProtectionClass.attributeName, to: value)
    }
}

extension URL {
    /// The path of a file URL; other URLs are not protected.
    var protectedPath: String {
        get throws(DataProtectionError) {
            guard isFileURL else { throw .notProtected(path: absoluteString) }
            return path
        }
    }
}
