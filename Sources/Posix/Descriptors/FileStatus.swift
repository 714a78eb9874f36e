import Glibc

/// The kind of a file: the type bits of its mode.
public enum FileKind: Hashable, Sendable {
    case regular, directory, symbolicLink, fifo, socket, characterDevice, blockDevice

    /// Nil for a type that Linux does not know.
    public init?(mode: UInt32) {
        switch mode & S_IFMT {
        case S_IFREG: self = .regular
        case S_IFDIR: self = .directory
        case S_IFLNK: self = .symbolicLink
        case S_IFIFO: self = .fifo
        case S_IFSOCK: self = .socket
        case S_IFCHR: self = .characterDevice
        case S_IFBLK: self = .blockDevice
        default: return nil
        }
    }

    /// The type bits, S_IFMT.
    public var mode: UInt32 {
        switch self {
        case .regular: S_IFREG
        case .directory: S_IFDIR
        case .symbolicLink: S_IFLNK
        case .fifo: S_IFIFO
        case .socket: S_IFSOCK
        case .characterDevice: S_IFCHR
        case .blockDevice: S_IFBLK
        }
    }
}

/// The metadata of an inode. `size` is in bytes, `blocks` in units of 512 bytes.
///
/// Source: stat(2).
public struct FileStatus: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    /// Type and permission bits.
    public var mode: UInt32
    public var linkCount: UInt64
    public var owner: UInt32
    public var group: UInt32
    /// The device number of a device node.
    public var specialDevice: UInt64
    public var size: Int64
    public var blocks: Int64
    public var blockSize: Int64
    public var accessed: Timespec
    public var modified: Timespec
    public var changed: Timespec

    public init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = status.st_mode
        linkCount = UInt64(status.st_nlink)
        owner = status.st_uid
        group = status.st_gid
        specialDevice = UInt64(status.st_rdev)
        size = Int64(status.st_size)
        blocks = Int64(status.st_blocks)
        blockSize = Int64(status.st_blksize)
        accessed = Timespec(status.st_atim)
        modified = Timespec(status.st_mtim)
        changed = Timespec(status.st_ctim)
    }

    /// Nil for a type that Linux does not know.
    public var kind: FileKind? { FileKind(mode: mode) }

    /// The mode without the type: permissions, set-ID bits, sticky bit.
    public var permissions: UInt32 { mode & 0o7777 }
}
