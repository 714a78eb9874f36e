import Control
import Glibc
import Posix

/// Shows on standard error how far the lock of a mount is, from a thread of its own, until it is told to end.
///
/// On a terminal one line that counts down; else a line for each step.
final class LockProgress: Sendable {
    private let mount: ServedMount
    private let isTerminal = isatty(STDERR_FILENO) == 1
    /// What the one thread writes for the other to see.
    private let wanted: Wakeup
    private let ended: Wakeup

    /// - Parameter mount: over a connection that nobody else waits on.
    init(of mount: ServedMount) throws(Errno) {
        self.mount = mount
        (wanted, ended) = (try Wakeup(), try Wakeup())
        try startThread { self.run() }
    }

    /// Returns when nothing is shown any more.
    func end() {
        wanted.signal()
        ended.wait()
    }

    private func run() {
        var shown: Printable?
        // What cannot be told is not shown: who waits for the lock hears of it by himself.
        while let status = try? mount.client.status() {
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
        return isTerminal ? "the keys will be gone in \(Clock.seconds(left))\(clock)" : "the keys will be gone\(clock)"
    }
}
