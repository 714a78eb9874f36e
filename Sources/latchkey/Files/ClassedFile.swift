import Format
import Glibc
import Posix

/// A file or folder in a Latchkey mount, held by a descriptor that needs no key (O_PATH).
struct ClassedFile {
    /// As the person typed it, or as found below what was typed; for messages.
    let path: [UInt8]
    let parent: Descriptor
    let name: Name
    let file: Descriptor
    let status: FileStatus

    /// Finds the file that `path` leads to through symbolic links, and refuses one that no Latchkey mount holds, and
    /// one that is neither a file nor a folder.
    ///
    /// The check comes before the first look at the attribute: any file system would store one of that name.
    init(path: String, in mounts: MountTable) throws(CommandError) {
        let (folder, name) = try AbsolutePath(resolving: path).split(path)
        self.path = Array(path.utf8)
        self.name = name
        do {
            parent = try Descriptor.open(path: folder, O_PATH | O_DIRECTORY)
            file = try parent.open(name, O_PATH | O_NOFOLLOW)
            status = try file.status()
        } catch {
            throw CommandError(cannot: "open", path, error)
        }
        guard mounts.latchkeyMount(device: status.device) != nil else {
            throw CommandError(
                .notFound, "\(path) is not in a Latchkey mount", try: "latchkey status",
                "latchkey mount VAULT DIR")
        }
        guard hasClass else {
            throw CommandError(.failed, "\(path) is neither a file nor a folder: it has no class")
        }
    }

    /// One entry of the folder `parent`.
    init(_ name: Name, in parent: ClassedFile) throws(Errno) {
        path = parent.path(of: name)
        self.parent = parent.file
        self.name = name
        file = try parent.file.open(name, O_PATH | O_NOFOLLOW)
        status = try file.status()
    }

    /// What was opened before, under the same path and name.
    init(again file: Descriptor, _ status: FileStatus, _ path: [UInt8], _ name: Name, in parent: Descriptor) {
        (self.file, self.status, self.path, self.name, self.parent) = (file, status, path, name, parent)
    }

    /// Of an entry of this folder.
    func path(of name: Name) -> [UInt8] {
        path + (path.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + name.bytes
    }

    /// Only files and folders belong to a class.
    var hasClass: Bool { status.kind == .regular || status.kind == .directory }

    func protectionClass() throws(Errno) -> ProtectionClass {
        let value = try file.attribute(ProtectionClass.attributeName)
        guard let found = ProtectionClass(attributeValue: String(decoding: value, as: UTF8.self)) else { throw .EINVAL }
        return found
    }

    /// Whether the class was set on this very file or folder.
    func isExplicit() throws(Errno) -> Bool {
        try file.attributeNames().contains(ProtectionClass.attributeName)
    }

    func setClass(_ protectionClass: ProtectionClass) throws(Errno) {
        try file.setAttribute(ProtectionClass.attributeName, to: Array(protectionClass.name.utf8))
    }

    /// The files and folders in this folder, in the order of their names.
    func children() throws(Errno) -> [Name] {
        try file.entries().map(\.name).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}
