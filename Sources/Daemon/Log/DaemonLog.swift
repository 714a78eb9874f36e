import FoundationEssentials
import Glibc
import Logging
import Posix

/// Where the daemon's log goes.
public enum LogDestination: Hashable, Sendable {
    case standardError
    /// A file, appended to; it is made if it is missing.
    case file(path: String)
    /// The local syslog or journal; facility `daemon`.
    case system
}

/// Turns each event into one line. Secrets cannot be logged: their type has no text.
struct DaemonLog: LogHandler {
    let writer: LogWriter
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = metadata.merging(event.metadata ?? [:]) { $1 }
            .sorted { $0.key < $1.key }.map { key, value in " \(key)=\(Self.shown(value))" as Printable }
        // One line for each event, even if a file name in it contains a newline.
        let message = Printable(line: event.message.description)
        writer.append(LogLine(level: event.level, text: "\(message)\(details.joined())"))
    }

    private static func shown(_ value: Logger.MetadataValue) -> Printable {
        guard case .stringConvertible(let printable as Printable) = value else { return "\(value)" }
        return printable
    }
}

struct LogLine: Sendable {
    let date = Date.now
    let level: Logger.Level
    let text: Printable
}

/// The output of a log.
enum LogSink: Sendable {
    case stream(Descriptor)
    case system

    /// Never released, and so never closed.
    private static let standardError = Descriptor(owning: 2)

    init(_ destination: LogDestination) throws(Errno) {
        switch destination {
        case .standardError:
            // A duplicate: the daemon may close its standard error, but not its log.
            self = .stream(try Self.standardError.duplicate())
        case .file(let path):
            self = .stream(try Descriptor.open(path: path, O_WRONLY | O_CREAT | O_APPEND, mode: 0o600))
        case .system:
            openlog(nil, LOG_PID, LOG_DAEMON)
            self = .system
        }
    }

    func write(_ line: LogLine) {
        switch self {
        case .stream(let descriptor):
            let time = line.date.ISO8601Format(.init(includingFractionalSeconds: true))
            let bytes = Array("\(time) \(line.level): \(line.text)\n".utf8)
            // A failure to write the log must not stop the daemon.
            try? unsafe descriptor.write(bytes.span.bytes)
        case .system:
            unsafe line.text.text.withCString { text in
                unsafe withVaList([text]) { unsafe vsyslog(line.level.priority, "%s", $0) }
            }
        }
    }
}

extension Logger.Level {
    /// Source: syslog(3).
    fileprivate var priority: Int32 {
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
