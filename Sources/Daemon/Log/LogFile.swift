import Glibc
import Keybag
import Posix
import Synchronization

/// The log of a daemon that has no system log: a file for each vault, which only its owner can read.
///
/// It may lie on a disk without encryption, so plaintext names do not come into it: `LogWriter.hidesNames`.
final class LogFile: Sendable {
    /// The size at which the file becomes `PATH.1`, in place of an earlier one.
    static let limit: Int64 = 1 << 20

    let path: String
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let file: Mutex<Descriptor>

    /// Makes the folders that are missing above it, with mode 0700.
    init(path: String) throws(Errno) {
        self.path = path
        let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        for end in folder.indices where folder[end] == "/" && end != folder.startIndex {
            unsafe mkdir(String(folder[..<end]), 0o700)
        }
        unsafe mkdir(String(folder), 0o700)
        file = Mutex(try Self.open(path))
    }

    private static func open(_ path: String) throws(Errno) -> Descriptor {
        let file = try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        // One that existed may be another user's, or have another mode.
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0, status.st_uid == geteuid() else { throw .EPERM }
        if status.st_mode & 0o7777 != 0o600 { guard fchmod(file.number, 0o600) == 0 else { throw Errno.current } }
        return file
    }

    /// A failure to write the log must not stop the daemon.
    func write(_ bytes: [UInt8]) {
        file.withLock { file in
            if let size = try? file.status().size, size + Int64(bytes.count) > Self.limit {
                if unsafe Glibc.rename(path, "\(path).1") != 0 {
                    // Its place is taken, by a folder for example.
                    guard ftruncate(file.number, 0) == 0 else { return }
                } else if let next = try? Self.open(path) {
                    file = next
                }
            }
            try? unsafe file.write(bytes.span.bytes)
        }
    }

    /// Where a vault's log lies: a copy of a vault has a log of its own.
    static func path(of configuration: Configuration) -> String {
        "\(DeviceKeyFile.stateFolder())/log/\(configuration.vaultHash).log"
    }
}
