import Glibc
import Posix

/// Tells when a mount has left the tree: taken away by `umount -l`, say, while programs still have its files open.
///
/// Source: proc_pid_mountinfo(5), proc_pid_mounts(5) for the notification.
struct MountWatch: Sendable {
    /// Reports POLLPRI after each change of the table of mounts.
    let descriptor: Descriptor
    /// As mountinfo writes a device: major and minor number.
    private let device: [UInt8]

    /// - Parameter device: `st_dev` of the files in the mount.
    init(device: UInt64) throws(Errno) {
        descriptor = try Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY)
        // gnu_dev_major and gnu_dev_minor of makedev(3), which are macros.
        let major = (device >> 8) & 0xfff | (device >> 32) & 0xffff_f000
        let minor = device & 0xff | (device >> 12) & 0xffff_ff00
        self.device = Array("\(major):\(minor)".utf8)
    }

    /// Whether the mount stands nowhere in this process's table; false as well where the table cannot be read.
    var isGone: Bool {
        guard let table = try? Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY).bytes() else { return false }
        return !table.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
            return fields.count > 2 && fields[2].elementsEqual(device)
        }
    }
}
