import CLinux
import Glibc

/// Which file something is, as the kernel has it in memory: its file system is not asked, and so may be slow, stopped or
/// dead.
public struct KnownInode: Hashable, Sendable {
    /// As st_dev and st_ino have them.
    public var device: UInt64
    public var inode: UInt64

    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    /// What a path leads to; most of all one of /proc/PID/fd, on the way to which no other file system lies.
    ///
    /// Source: statx(2), AT_STATX_DONT_SYNC.
    public init(path: String) throws(Errno) {
        self.init(device: 0, inode: 0)
        try unsafe withCString(Array(path.utf8)) { path throws(Errno) in
            try perform { unsafe lk_known_inode(AT_FDCWD, path, &device, &inode) }
        }
    }

    /// Whether a path leads to a directory, which no inode ceases to be: so the file system is not asked either.
    public static func isDirectory(path: String) throws(Errno) -> Bool {
        var isDirectory = false
        try unsafe withCString(Array(path.utf8)) { path throws(Errno) in
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
