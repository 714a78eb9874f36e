import CFuse
import Glibc
import Posix
import Synchronization

/// The messages of libfuse, by default on standard error.
///
/// One for the whole process, as in libfuse. Source: fuse_set_log_func.
public enum Log {
    /// The levels of syslog(3).
    public enum Level: Int32, Sendable {
        case emergency, alert, critical, error, warning, notice, info, debug
    }

    /// In a structure: each access to a bare closure in a mutex wraps it once more.
    private struct Route: Sendable {
        let sink: @Sendable (Level, String) -> Void
    }

    private static let route = Mutex<Route?>(nil)

    /// Passes every message, one line without its newline, to `sink`, which may be called on any thread.
    public static func route(to sink: @escaping @Sendable (Level, String) -> Void) {
        route.withLock { $0 = Route(sink: sink) }
        capture()
    }

    static func capture() {
        unsafe lk_fuse_set_log { level, message in
            guard let message = unsafe message.map({ unsafe String(cString: $0) }) else { return }
            Log.emit(Level(rawValue: level) ?? .error, message)
        }
    }

    static func emit(_ level: Level, _ message: String) {
        if let collected = unsafe pthread_getspecific(collecting) {
            unsafe collected.assumingMemoryBound(to: [String].self).pointee.append(message)
        } else if let route = route.withLock({ $0 }) {
            route.sink(level, trimmed(message[...]))
        } else {
            // A message may contain the path of the mount point; a partial line has no newline.
            let end = message.hasSuffix("\n") ? "\n" : ""
            unsafe lk_fuse_print(Printable(line: String(message.dropLast(end.count))).text + end)
        }
    }

    private static let collecting: pthread_key_t = {
        var key = pthread_key_t()
        precondition(unsafe pthread_key_create(&key, nil) == 0, "out of thread keys")
        return key
    }()

    /// Runs `body` and returns its result, and the messages that this thread logged meanwhile.
    static func collect<Result>(_ body: () -> Result) -> (Result, String) {
        var messages: [String] = []
        let result = unsafe withUnsafeMutablePointer(to: &messages) { pointer in
            unsafe pthread_setspecific(collecting, pointer)
            defer { pthread_setspecific(collecting, nil) }
            return body()
        }
        // A line may come in several messages; a newline ends it.
        let lines = messages.joined().split(separator: "\n")
        return (result, lines.map(trimmed).joined(separator: "; "))
    }

    private static func trimmed(_ line: Substring) -> String {
        var line = line
        while line.last?.isWhitespace == true { line.removeLast() }
        return String(line)
    }
}
