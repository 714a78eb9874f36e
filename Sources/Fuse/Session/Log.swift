import CFuse
import Glibc
import Posix
import Synchronization

/// What libfuse has to say: by default to standard error.
///
/// One for the process, as libfuse's is. Source: fuse_set_log_func.
public enum Log {
    /// The levels of syslog(3).
    public enum Level: Int32, Sendable {
        case emergency, alert, critical, error, warning, notice, info, debug
    }

    /// In a structure: a closure that a mutex holds bare is wrapped once more by each look at it.
    private struct Route: Sendable {
        let sink: @Sendable (Level, String) -> Void
    }

    private static let route = Mutex<Route?>(nil)

    /// Hands every message, one line without its end, to `sink`, which may be called on any thread.
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
            // It may name the mount point; a piece of a sentence has no end.
            let end = message.hasSuffix("\n") ? "\n" : ""
            unsafe lk_fuse_print(Printable(line: String(message.dropLast(end.count))).text + end)
        }
    }

    private static let collecting: pthread_key_t = {
        var key = pthread_key_t()
        precondition(unsafe pthread_key_create(&key, nil) == 0, "out of thread keys")
        return key
    }()

    /// Runs `body` and returns, besides its result, what was said on this thread meanwhile.
    static func collect<Result>(_ body: () -> Result) -> (Result, String) {
        var messages: [String] = []
        let result = unsafe withUnsafeMutablePointer(to: &messages) { pointer in
            unsafe pthread_setspecific(collecting, pointer)
            defer { pthread_setspecific(collecting, nil) }
            return body()
        }
        // A sentence may come in pieces; its end is a newline.
        let lines = messages.joined().split(separator: "\n")
        return (result, lines.map(trimmed).joined(separator: "; "))
    }

    private static func trimmed(_ line: Substring) -> String {
        var line = line
        while line.last?.isWhitespace == true { line.removeLast() }
        return String(line)
    }
}
