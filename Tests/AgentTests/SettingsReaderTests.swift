@testable import Agent
import Glibc
import LockSources
import Testing

/// Events that come at the same time.
@Suite struct SettingsReaderTests {
    @Test func `a second event waits for the reading under way`() async {
        let reader = SettingsReader {
            var settings = AgentSettings()
            settings.off = [.lid]
            usleep(50_000)
            return settings
        }
        async let first = Self.read(reader)
        async let second = Self.read(reader)
        async let third = Self.read(reader)
        let all: [Set<LockSource>] = await [first, second, third]
        #expect(all == [[.lid], [.lid], [.lid]])
    }

    @Test func `a reading that fails or hangs switches nothing off`() {
        #expect(SettingsReader { nil }.current.off.isEmpty)
        let reader = SettingsReader {
            sleep(2)
            var settings = AgentSettings()
            settings.off = [.lid]
            return settings
        }
        #expect(reader.current.off.isEmpty)
    }

    @concurrent private static func read(_ reader: SettingsReader) async -> Set<LockSource> { reader.current.off }
}
