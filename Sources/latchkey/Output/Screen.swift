import Glibc
import Posix
import Synchronization

/// Standard error during long work: how far it is stands in its last line, if it is a terminal.
final class Screen: Sendable {
    let isTerminal = isatty(STDERR_FILENO) == 1
    /// Whether that line is to be seen now.
    private let isShown = Mutex(false)

    /// Lets `body` write lines, that one out of the way. For one thread at a time.
    func write(_ body: () -> Void) {
        isShown.withLock { isShown in
            if isShown { Standard.progress("") }
            isShown = false
            body()
        }
    }

    /// Shows a line of at most 79 columns in the place of the last one.
    func show(_ text: @autoclosure () -> Printable) {
        guard isTerminal else { return }
        isShown.withLock { isShown in
            Standard.progress(text())
            isShown = true
        }
    }
}
