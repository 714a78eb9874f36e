@testable import Agent
import Glibc
import LockSources
import Posix
import Synchronization
import Testing

/// Events that come at the same time.
@Suite struct SettingsReaderTests {
    private static var withoutLid: AgentSettings {
        var settings = AgentSettings()
        settings.off = [.lid]
        return settings
    }

    @Test func `a second event waits for the reading under way`() async throws {
        let (seen, answer) = AsyncStream.makeStream(of: Set<LockSource>.self)
        let second = Second()
        let reader = SettingsReader {
            // The second event comes during the first one's reading.
            second.once { answer.yield($0.current.off) }
            usleep(200_000)
            return Self.withoutLid
        }
        second.reader.withLock { $0 = reader }
        #expect(reader.current.off == [.lid])
        var others = seen.makeAsyncIterator()
        #expect(await others.next() == [.lid])
    }

    @Test func `a reading that fails or hangs switches nothing off`() {
        #expect(SettingsReader { nil }.current.off.isEmpty)
        let reader = SettingsReader {
            sleep(2)
            return Self.withoutLid
        }
        #expect(reader.current.off.isEmpty)
    }

    /// Gives a reader to another thread, once.
    private final class Second: Sendable {
        let reader = Mutex<SettingsReader?>(nil)

        func once(_ body: @escaping @Sendable (SettingsReader) -> Void) {
            guard let reader = reader.withLock({ $0.take() }) else { return }
            do throws(Errno) { try startThread { body(reader) } } catch { Issue.record("no second thread: \(error)") }
        }
    }
}
