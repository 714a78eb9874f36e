import Posix
import Synchronization

/// Reads the configuration for each event, and never waits long for it: a disk that does not answer delays no lock.
///
/// Thread-safe.
final class SettingsReader: Sendable {
    private struct State {
        /// The last ones that could be read.
        var last = AgentSettings()
        /// Of the thread that reads, for which callers may have stopped to wait.
        var awaited: Answer?
    }

    private static let patience = Duration.seconds(1)
    private let read: @Sendable () -> AgentSettings?
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let state = Mutex(State())

    init(_ read: @escaping @Sendable () -> AgentSettings?) { self.read = read }

    /// What the configuration says now. If it is wrong, or cannot be read in time, it switches nothing off; the rest is
    /// as it was last.
    var current: AgentSettings {
        guard let answer = awaited() else { return safest }
        // An event that comes late in a reading waits for the rest of the time alone. If it cannot wait, the safest
        // settings count.
        let left = max(answer.begin + Self.patience - .now, .zero)
        _ = try? Poll.readable([answer.wakeup.readable], timeout: left)
        return answer.settings ?? safest
    }

    /// The answer that comes, of a thread that reads; nil if none can begin. Events at the same time share it.
    private func awaited() -> Answer? {
        guard let new = try? Answer() else { return nil }
        let answer = state.withLock { state in
            if let awaited = state.awaited { return awaited }
            state.awaited = new
            return new
        }
        guard answer === new else { return answer }
        do throws(Errno) {
            try startThread { [self] in
                let settings = read()
                state.withLock { state in
                    if let settings { state.last = settings }
                    state.awaited = nil
                }
                answer.give(settings)
            }
        } catch {
            state.withLock { $0.awaited = nil }
            return nil
        }
        return answer
    }

    private var safest: AgentSettings {
        var settings = state.withLock { $0.last }
        settings.off = []
        settings.sourcesOfVaults = [:]
        return settings
    }

    private final class Answer: Sendable {
        let wakeup: Wakeup
        let begin = ContinuousClock.now
        private let given = Mutex<AgentSettings?>(nil)

        init() throws(Errno) { wakeup = try Wakeup() }

        var settings: AgentSettings? { given.withLock { $0 } }

        func give(_ settings: AgentSettings?) {
            given.withLock { $0 = settings }
            wakeup.signal()
        }
    }
}
