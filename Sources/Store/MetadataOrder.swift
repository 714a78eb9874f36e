import Glibc
import Posix

/// The device of a file system that brings changes of metadata to the disk in their order.
///
/// ext4 with a journal and XFS commit them in the order in which they were made. Btrfs does not always: fsync(2) of one
/// file can log a name of another file without the attributes of that file. What is not known, and each error,
/// counts as unordered: then renames are flushed.
enum MetadataOrder {
    /// Source: Documentation/ABI/testing/sysfs-fs-ext4 and sysfs-fs-xfs in the kernel, sysfs(5).
    static func device(of folder: Descriptor) -> UInt64? {
        guard let device = try? folder.status().device, let name = name(ofDevice: device) else { return nil }
        // The journal's process; without a journal this is a word.
        if let journal = contents(of: "/sys/fs/ext4/\(name)/journal_task") { return Int(journal) == nil ? nil : device }
        // XFS always has a log.
        return (try? Descriptor.open(path: Path("/sys/fs/xfs/\(name)"), O_PATH | O_DIRECTORY)) == nil ? nil : device
    }

    private static func name(ofDevice device: UInt64) -> String? {
        // As makedev(3) puts them together.
        let major = device >> 8 & 0xfff | device >> 32 & ~0xfff
        let minor = device & 0xff | device >> 12 & ~0xff
        let path = "/sys/dev/block/\(major):\(minor)"
        guard let folder = try? Descriptor.open(path: Path(path), O_PATH | O_DIRECTORY), let path = try? folder.path()
        else { return nil }
        return String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    private static func contents(of path: String) -> String? {
        guard let file = try? Descriptor.open(path: Path(path), O_RDONLY), let bytes = try? file.bytes() else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map(String.init)
    }
}
