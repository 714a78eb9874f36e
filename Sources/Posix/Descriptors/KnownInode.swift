import CLinux
import Glibc

/// The identity of a file, as the kernel has it in memory. Its file system is not asked, so that one that is slow,
/// stopped or dead does no harm.
public struct KnownInode: Hashable, Sendable {
    /// As in st_dev and st_ino.
    public var device: UInt64
    public var inode: UInt64

    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    /// The file at a path; above all one in /proc/PID/fd, whose lookup passes no other file system.
    ///
    /// Source: statx(2), AT_STATX_DONT_SYNC.
    public init(path: Path) throws(Errno) {
        self.init(device: 0, inode: 0)
        try unsafe withCString(path.bytes) { path throws(Errno) in
            try perform { unsafe lk_known_inode(AT_FDCWD, path, &device, &inode) }
        }
    }

    /// Whether a path leads to a directory. An inode never stops being one, so the file system need not be asked.
    public static func isDirectory(path: Path) throws(Errno) -> Bool {
        var isDirectory = false
        try unsafe withCString(path.bytes) { path throws(Errno) in
            let result = unsafe lk_known_directory(path)
            guard result >= 0 else { throw .current }
            isDirectory = result == 1
        }
        return isDirectory
    }

    public init(_ file: Descriptor) throws(Errno) {
        self.init(device: 0, inode: 0)
        try perform { unsafe lk_known_inode(file.number, "", &device, &inode) }
    }
}
