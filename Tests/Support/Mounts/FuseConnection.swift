import Glibc

/// A connection between the kernel and a FUSE daemon.
///
/// A process that waits for a reply is in an uninterruptible sleep; only the end of the connection wakes it.
public struct FuseConnection: Sendable {
    /// The minor device number of its mount.
    private let number: UInt64

    /// - Parameter device: st_dev of the mount.
    public init(device: UInt64) {
        number = device & 0xff | device >> 12 & 0xfff00
    }

    /// For a mount in the mount table: a hanging mount does not answer stat(2).
    public init?(at mountPoint: String) {
        let fields = mountLines(of: mountPoint).last?.split(separator: " ")
        guard let minor = fields?[2].split(separator: ":").last.flatMap({ UInt64($0) }) else { return nil }
        number = minor
    }

    /// Writes to the connection's abort file, in a private view of the control file system if none is mounted.
    public func abort() {
        if write("/sys/fs/fuse/connections/\(number)/abort") { return }
        let view = "/tmp/latchkey-fusectl-\(getpid())-\(number)"
        unsafe mkdir(view, 0o700)
        if unsafe mount("none", view, "fusectl", 0, nil) == 0 {
            _ = write("\(view)/\(number)/abort")
            unsafe umount2(view, Int32(MNT_DETACH))
        }
        unsafe rmdir(view)
    }

    private func write(_ path: String) -> Bool {
        let file = unsafe open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        return unsafe Glibc.write(file, "1", 1) == 1
    }
}
