import Glibc
import Logging
import Posix

/// The journal of systemd, which takes entries with fields: `journalctl VAULT=/home/ann/.vault`.
///
/// Source: systemd.io/JOURNAL_NATIVE_PROTOCOL.
final class JournalSocket: Sendable {
    private let socket: Descriptor
    /// Fields of every entry.
    private let common: [UInt8]

    static let path = "/run/systemd/journal/socket"

    /// Nil if there is no journal, or if the log goes elsewhere.
    convenience init?(for destination: LogDestination, _ configuration: Configuration) {
        switch destination {
        case .standardError: guard Self.isStandardError else { return nil }
        case .file: return nil
        case .system: break
        }
        self.init(path: Self.path, vault: configuration.vault, mountPoint: configuration.mountPoint)
    }

    init?(path: String, vault: Path, mountPoint: Path) {
        guard let socket = try? UnixSocket.datagrams(to: path) else { return nil }
        self.socket = socket
        common =
            Self.field("SYSLOG_IDENTIFIER", "latchkey") + Self.field("SYSLOG_FACILITY", "\(LOG_DAEMON >> 3)")
            + Self.field("SYSLOG_PID", "\(getpid())")
            + Self.field("VAULT", vault.bytes) + Self.field("MOUNT", mountPoint.bytes)
    }

    /// Whether systemd has connected standard error to the journal. Source: systemd.exec(5), $JOURNAL_STREAM.
    private static var isStandardError: Bool {
        var status = stat()
        guard let stream = unsafe getenv("JOURNAL_STREAM"), unsafe fstat(STDERR_FILENO, &status) == 0 else {
            return false
        }
        return unsafe String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// False if the journal did not take the line: it may be stopped, or its queue full.
    func write(_ line: LogLine) -> Bool {
        var entry = common
        entry += Self.field("PRIORITY", "\(line.level.priority)")
        for (key, value) in line.fields { entry += Self.field(key, value) }
        entry += Self.field("MESSAGE", line.text.text)
        return (try? unsafe socket.send(entry.span.bytes)) != nil
    }

    /// A value with a newline, as a path may have, is written with its length.
    private static func field(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "\n")) else { return Array("\(name)=".utf8) + bytes + [UInt8(ascii: "\n")] }
        let size = UInt64(bytes.count)
        return Array("\(name)\n".utf8) + (0..<8).map { UInt8(truncatingIfNeeded: size >> ($0 * 8)) } + bytes
            + [UInt8(ascii: "\n")]
    }

    private static func field(_ name: String, _ text: String) -> [UInt8] { field(name, Array(text.utf8)) }

    /// The journal's names for what the daemon says of an event beside its message; others stay in the message alone.
    static func fields(_ metadata: Logger.Metadata) -> [(String, String)] {
        names.compactMap { key, name in metadata[key].map { (name, "\($0)") } }
    }

    private static let names = [
        ("reason", "REASON"), ("stored", "FILE_ID"), ("signal", "SIGNAL"), ("inodes", "INODES"), ("took", "TOOK"),
    ]
}
