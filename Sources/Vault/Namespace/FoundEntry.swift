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

/// What stat(2) says of an entry; of a file, perhaps without its header having been read.
public enum BriefEntry: Sendable {
    case whole(FoundEntry)
    /// A regular file's metadata, and the summary from which they come.
    case summarized(FileStatus, FileSummary)
}

/// An entry of a listing.
public struct ListedEntry: Sendable {
    public let name: Name
    /// The name in the backing folder.
    let stored: Name
    public let inode: UInt64
    public let kind: FileKind?

    /// `.` or `..`.
    public init(dots name: Name, inode: UInt64) {
        self.init(name: name, stored: name, inode: inode, kind: .directory)
    }

    init(name: Name, stored: Name, inode: UInt64, kind: FileKind?) {
        self.name = name
        self.stored = stored
        self.inode = inode
        self.kind = kind
    }
}
