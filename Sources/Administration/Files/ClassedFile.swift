public import Failure
public import Format
import Glibc
public import Posix

/// A file or folder in a Latchkey mount, held by a descriptor that needs no key (O_PATH).
public struct ClassedFile: Sendable {
    /// The path as it was typed, or as found below a typed one; for messages.
    public let path: [UInt8]
    public let parent: Descriptor
    public let name: Name
    public let file: Descriptor
    public let status: FileStatus

    /// Finds the file at `path`, through symbolic links. Refuses one that is in no Latchkey mount, and one that is
    /// neither a file nor a folder.
    ///
    /// The mount is checked before the attribute is used: any other file system would store one of that name.
    public init(path: Path, in mounts: MountTable) throws(Failure) {
        let (folder, name) = try AbsolutePath(resolving: path).split(path)
        self.path = path.bytes
        self.name = name
        do {
            parent = try Descriptor.open(path: folder, O_PATH | O_DIRECTORY)
            file = try parent.open(name, O_PATH | O_NOFOLLOW)
            status = try file.status()
        } catch {
            throw .file(error, doing: "open", path: path)
        }
        guard mounts.latchkeyMount(device: status.device) != nil else {
            throw .notInAMount(path: path)
        }
        guard hasClass else {
            throw .neitherFileNorFolder(path: path)
        }
    }

    /// One entry of the folder `parent`.
    public init(_ name: Name, in parent: ClassedFile) throws(Errno) {
        path = parent.path(of: name)
        self.parent = parent.file
        self.name = name
        file = try parent.file.open(name, O_PATH | O_NOFOLLOW)
        status = try file.status()
    }

    /// A file that was opened before, with the same path and name.
    public init(again file: Descriptor, _ status: FileStatus, _ path: [UInt8], _ name: Name, in parent: Descriptor) {
        (self.file, self.status, self.path, self.name, self.parent) = (file, status, path, name, parent)
    }

    /// The path of an entry of this folder.
    public func path(of name: Name) -> [UInt8] {
        path + (path.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + name.bytes
    }

    /// Only files and folders have a class.
    public var hasClass: Bool { status.kind == .regular || status.kind == .directory }

    public func protectionClass() throws(Errno) -> ProtectionClass {
        let value = try file.attribute(ProtectionClass.attributeName)
        guard let found = ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self)) else { throw .EINVAL }
        return found
    }

    /// Whether the class was set on this file or folder itself.
    public func isExplicit() throws(Errno) -> Bool {
        try file.attributeNames().contains(ProtectionClass.attributeName)
    }

    public func setClass(_ protectionClass: ProtectionClass) throws(Errno) {
        try file.setAttribute(ProtectionClass.attributeName, to: Array(protectionClass.name.utf8))
    }

    /// The entries of this folder, in the order of their names.
    public func children() throws(Errno) -> [Name] {
        try file.entries().map(\.name).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}
