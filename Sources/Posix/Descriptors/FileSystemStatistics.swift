import CLinux
import Glibc

/// The usage of a file system. Blocks are counted in units of `fragmentSize` bytes.
///
/// Source: statvfs(3).
public struct FileSystemStatistics: Hashable, Sendable {
    /// The preferred transfer size, in bytes.
    public var blockSize: UInt64
    public var fragmentSize: UInt64
    public var blocks: UInt64
    public var freeBlocks: UInt64
    /// Free to users other than root.
    public var availableBlocks: UInt64
    public var files: UInt64
    public var freeFiles: UInt64
    public var availableFiles: UInt64
    /// The longest name, in bytes.
    public var maximumNameLength: UInt64
    /// ST_* flags: read-only, nosuid and so on.
    public var flags: UInt64

    public init(_ statistics: statvfs) {
        blockSize = UInt64(statistics.f_bsize)
        fragmentSize = UInt64(statistics.f_frsize)
        blocks = UInt64(statistics.f_blocks)
        freeBlocks = UInt64(statistics.f_bfree)
        availableBlocks = UInt64(statistics.f_bavail)
        files = UInt64(statistics.f_files)
        freeFiles = UInt64(statistics.f_ffree)
        availableFiles = UInt64(statistics.f_favail)
        maximumNameLength = UInt64(statistics.f_namemax)
        flags = UInt64(statistics.f_flag)
    }
}
