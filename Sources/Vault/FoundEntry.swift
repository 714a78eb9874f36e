import Format
import Posix

/// What stat(2) says of an entry, with the sizes of the plaintext.
public struct FoundEntry: Sendable {
    /// The backing inode's metadata; `size` is that of the plaintext.
    public var status: FileStatus
    public var details: Details

    public enum Details: Sendable {
        case file(FileHeader)
        case directory(Directory)
        /// Symbolic links, FIFOs, sockets, devices.
        case other
    }
}

/// An entry of a listing.
public struct ListedEntry: Sendable {
    public let name: Name
    public let inode: UInt64
    public let kind: FileKind?

    public init(name: Name, inode: UInt64, kind: FileKind?) {
        self.name = name
        self.inode = inode
        self.kind = kind
    }
}
