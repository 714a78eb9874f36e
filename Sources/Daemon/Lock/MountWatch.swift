import Glibc
import Posix

/// Detects that a mount was detached from the tree, by `umount -l` for example, while programs have its files open, and
/// that it was remounted read-only or writable.
///
/// Source: proc_pid_mountinfo(5), proc_pid_mounts(5) for the notification.
struct MountWatch: Sendable {
    /// Reports POLLPRI after each change of the table of mounts.
    let descriptor: Descriptor
    /// The device as in mountinfo: major and minor number.
    private let device: [UInt8]

    /// - Parameter device: `st_dev` of the files in the mount.
    init(device: UInt64) throws(Errno) {
        descriptor = try Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY)
        // gnu_dev_major and gnu_dev_minor of makedev(3), which are macros.
        let major = (device >> 8) & 0xfff | (device >> 32) & 0xffff_f000
        let minor = device & 0xff | (device >> 12) & 0xffff_ff00
        self.device = Array("\(major):\(minor)".utf8)
    }

    enum Place: Equatable {
        case gone
        /// Read-only as a whole: not only by `mount --bind -o ro` at one path.
        case mounted(readOnly: Bool)
    }

    /// Where the mount is in this process's mount table; nil if the table cannot be read.
    var place: Place? {
        guard let table = try? Descriptor.open(path: "/proc/self/mountinfo", O_RDONLY).bytes() else { return nil }
        for line in table.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 2, fields[2].elementsEqual(device), let options = fields.last else { continue }
            let first = options.split(separator: UInt8(ascii: ",")).first
            return .mounted(readOnly: first?.elementsEqual("ro".utf8) == true)
        }
        return .gone
    }
}
