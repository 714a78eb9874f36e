import Glibc

/// The file of a program that runs; the type `Program` of `io.latchkey`.
///
/// A package's upgrade puts another file at its path, and a daemon that runs goes on with the old one.
public struct Program: Codable, Hashable, Sendable {
    public var path: String
    /// `st_dev`.
    public var device: UInt64
    /// `st_ino`. The daemon keeps the file in use, so that no other file gets its number.
    public var inode: UInt64

    public init(path: String, device: UInt64, inode: UInt64) {
        self.path = path
        self.device = device
        self.inode = inode
    }

    /// The program of this process; nil if the kernel does not say.
    ///
    /// Source: proc_pid_exe(5).
    public static func ofThisProcess() -> Program? {
        var status = stat()
        guard unsafe stat("/proc/self/exe", &status) == 0 else { return nil }
        let link = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            let length = unsafe buffer.withMemoryRebound(to: CChar.self) {
                unsafe readlink("/proc/self/exe", $0.baseAddress!, $0.count)
            }
            count = max(0, length)
        }
        guard link.first == UInt8(ascii: "/"), link.count < Int(PATH_MAX) else { return nil }
        var path = String(decoding: link, as: UTF8.self)
        // The kernel's words for a file without a name.
        if path.hasSuffix(" (deleted)"), status.st_nlink == 0 { path.removeLast(" (deleted)".count) }
        return Program(path: path, device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Whether another file is at its path now.
    public var isReplaced: Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        return UInt64(status.st_dev) != device || UInt64(status.st_ino) != inode
    }
}
