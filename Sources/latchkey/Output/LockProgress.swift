import Control
import Glibc
import Posix

/// Shows the progress of a lock on standard error, from a thread of its own, until `end` is called.
///
/// On a terminal it is one line with a countdown, else a line for each step.
final class LockProgress: Sendable {
    private let mount: ServedMount
    private let isTerminal = isatty(STDERR_FILENO) == 1
    /// Signals between the two threads.
    private let wanted: Wakeup
    private let ended: Wakeup

    /// - Parameter mount: its connection must not be used by another thread.
    init(of mount: ServedMount) throws(Errno) {
        self.mount = mount
        (wanted, ended) = (try Wakeup(), try Wakeup())
        try startThread { self.run() }
    }

    /// Returns when the progress is not shown any more.
    func end() {
        wanted.signal()
        ended.wait()
    }

    private func run() {
        var shown: Printable?
        // If the daemon does not answer, nothing is shown: the thread that waits for the lock reports the failure.
        var held: Printable?
        while let status = try? mount.client.status() {
            if status.state == .locking, let now = status.heldBy, now != held {
                if isTerminal, shown != nil { Standard.progress("") }
                // On a line of its own: the progress is short.
                Standard.error("The lock of \(status.mountPoint) is \(now).")
                (held, shown) = (now, nil)
            }
            if let text = text(of: status), text != shown {
                if isTerminal { Standard.progress(text) } else { Standard.error(text) }
                shown = text
            }
            let isOver = try? !Poll.readable([wanted.readable], timeout: .milliseconds(200)).isEmpty
            if isOver ?? true { break }
        }
        if isTerminal, shown != nil { Standard.progress("") }
        ended.signal()
    }

    private func text(of status: Control.Status) -> Printable? {
        guard status.state == .locking else { return nil }
        guard let left = status.graceRemaining, left > 0 else {
            guard isTerminal else { return "the keys are being taken out" }
            return status.evictionStep.map { "\($0)" }
        }
        let clock = status.deadline.flatMap { Clock.time($0) }.map { ", at \($0)" } ?? ""
        if status.heldBy != nil {
            return isTerminal
                ? "the keys will be gone in at most \(Clock.seconds(left))\(clock)"
                : "the keys will be gone\(clock) at the latest"
        }
        return isTerminal ? "the keys will be gone in \(Clock.seconds(left))\(clock)" : "the keys will be gone\(clock)"
    }
}
