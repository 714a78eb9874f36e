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
    private let journal: JournalSocket?

    /// The file that replaces the system's log, which there is none of.
    var file: String? { if case .file(let file) = sink { file.path } else { nil } }

    /// Whether the log may lie on a disk without encryption, so that plaintext names do not come into it. What a
    /// terminal shows, or a file that was asked for, has them.
    var hidesNames: Bool {
        if case .stream = sink { journal != nil } else { true }
    }

    /// The file that has the whole log; nil if the journal or the system's log has it.
    var statusFile: String? { journal == nil ? file : nil }

    /// - Parameter journal: takes each line that it can, in place of the sink.
    init(to sink: LogSink, journal: JournalSocket? = nil) throws(Errno) {
        self.sink = sink
        self.journal = journal
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
        for line in lines { write(line) }
        if dropped > 0 { write(LogLine(level: .warning, text: "\(dropped) lines of this log are missing")) }
        state.withLock { $0.isWriting = false }
    }

    private func write(_ line: LogLine) {
        if journal?.write(line) != true { sink.write(line) }
    }

    /// Waits up to `patience` until all lines so far are written.
    func flush(patience: Duration = .seconds(1)) {
        let deadline = BootClock.now + patience
        while state.withLock({ $0.isWriting || !$0.lines.isEmpty }), BootClock.now < deadline {
            usleep(2_000)
        }
    }
}
