import FoundationEssentials
import Glibc
import Logging
import Posix

/// Where the daemon's log goes.
public enum LogDestination: Hashable, Sendable {
    case standardError
    /// A file, appended to; it is made if it is missing.
    case file(path: String)
    /// The local syslog or journal; facility `daemon`. If there is none, a file in the user's state folder.
    case system
}

/// Turns each event into one line. Secrets cannot be logged: their type has no text.
struct DaemonLog: LogHandler {
    /// The keys of metadata with plaintext names of files, or with what a program says of itself, which may name some.
    static let names: Set = ["path", "first", "because", "command"]

    let writer: LogWriter
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = metadata.merging(event.metadata ?? [:]) { $1 }
            .filter { !writer.hidesNames || !Self.names.contains($0.key) }
            .sorted { $0.key < $1.key }.map { key, value in " \(key)=\(Self.shown(value))" as Printable }
        // One line for each event, even if a file name in it contains a newline.
        let message = Printable(line: event.message.description)
        let fields = JournalSocket.fields(metadata.merging(event.metadata ?? [:]) { $1 })
        writer.append(LogLine(fields: fields, level: event.level, text: "\(message)\(details.joined())"))
    }

    private static func shown(_ value: Logger.MetadataValue) -> Printable {
        guard case .stringConvertible(let printable as Printable) = value else { return "\(value)" }
        return printable
    }
}

struct LogLine: Sendable {
    /// What the journal takes beside the text, by the journal's names.
    var fields: [(String, String)] = []
    let date = Date.now
    let level: Logger.Level
    let text: Printable

    fileprivate var bytes: [UInt8] {
        Array("\(date.ISO8601Format(.init(includingFractionalSeconds: true))) \(level): \(text)\n".utf8)
    }
}

/// The output of a log.
enum LogSink: Sendable {
    case stream(Descriptor)
    case file(LogFile)
    case system

    /// Where the system's log is reached.
    private static let systemSocket = "/dev/log"

    /// Never released, and so never closed.
    private static let standardError = Descriptor(owning: 2)

    init(_ configuration: Configuration) throws(Errno) {
        switch configuration.log {
        case .standardError:
            // A duplicate: the daemon may close its standard error, but not its log.
            self = .stream(try Self.standardError.duplicate())
        case .file(let path):
            self = .stream(try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_APPEND, mode: 0o600))
        case .system:
            let isServed = UnixSocket.isServed(Self.systemSocket)
            let file = isServed ? nil : try? LogFile(path: LogFile.path(of: configuration))
            if file == nil { openlog(nil, LOG_PID, LOG_DAEMON) }
            self = file.map { .file($0) } ?? .system
        }
    }

    func write(_ line: LogLine) {
        switch self {
        case .stream(let descriptor):
            // A failure to write the log must not stop the daemon.
            try? unsafe descriptor.write(line.bytes.span.bytes)
        case .file(let file): file.write(line.bytes)
        case .system:
            unsafe line.text.text.withCString { text in
                unsafe withVaList([text]) { unsafe vsyslog(line.level.priority, "%s", $0) }
            }
        }
    }
}

extension Logger.Level {
    /// Source: syslog(3).
    var priority: Int32 {
        switch self {
        case .trace, .debug: LOG_DEBUG
        case .info: LOG_INFO
        case .notice: LOG_NOTICE
        case .warning: LOG_WARNING
        case .error: LOG_ERR
        case .critical: LOG_CRIT
        }
    }
}
