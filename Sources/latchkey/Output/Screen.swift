import Glibc
import Posix
import Synchronization

/// Standard error during long work: on a terminal its last line shows the progress.
final class Screen: Sendable {
    let isTerminal = isatty(STDERR_FILENO) == 1
    /// Whether that line is shown now. Held while lines are written. Lock order: docs/ARCHITECTURE.md.
    private let isShown = Mutex(false)

    /// Runs `body`, which writes lines, with the progress line cleared. One thread at a time.
    func write(_ body: () -> Void) {
        isShown.withLock { isShown in
            if isShown { Standard.progress("") }
            isShown = false
            body()
        }
    }

    /// Shows a line of at most 79 columns instead of the last one.
    func show(_ text: @autoclosure () -> Printable) {
        guard isTerminal else { return }
        isShown.withLock { isShown in
            Standard.progress(text())
            isShown = true
        }
    }
}
