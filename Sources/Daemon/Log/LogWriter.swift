import Control
import Glibc
import Posix
import Synchronization

/// Writes a log from a thread of its own: a stopped terminal, a full pipe or a hanging journal must not delay a lock.
final class LogWriter: Sendable {
    /// Number of lines that may wait for a stuck sink; later ones are only counted.
    private static let limit = 1000

    private struct State {
        var lines: [LogLine] = []
        var dropped = 0
        var isWriting = false
    }

    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())
    private let worker: OnDemandWorker
    private let sink: LogSink

    init(to sink: LogSink) throws(Errno) {
        self.sink = sink
        worker = try OnDemandWorker()
        try worker.start { [weak self] in self?.write() }
    }

    // Does not join the thread: it may hang in the sink.
    deinit { worker.end() }

    func append(_ line: LogLine) {
        state.withLock { state in
            guard state.lines.count < Self.limit else { return state.dropped += 1 }
            state.lines.append(line)
        }
        worker.wake()
    }

    private func write() {
        let (lines, dropped) = state.withLock { state in
            defer {
                state.lines = []
                state.dropped = 0
                state.isWriting = true
            }
            return (state.lines, state.dropped)
        }
        for line in lines { sink.write(line) }
        if dropped > 0 { sink.write(LogLine(level: .warning, text: "\(dropped) lines of this log are missing")) }
        state.withLock { $0.isWriting = false }
    }

    /// Waits up to `patience` until all lines so far are written.
    func flush(patience: Duration = .seconds(1)) {
        let deadline = BootClock.now + patience
        while state.withLock({ $0.isWriting || !$0.lines.isEmpty }), BootClock.now < deadline {
            usleep(2_000)
        }
    }
}
