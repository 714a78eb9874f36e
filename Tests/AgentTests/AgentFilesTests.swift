@testable import Agent
import TestSupport
import Testing

/// The place of a user's agent.
@Suite struct AgentFilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(mode: 0o700) }

    @Test func `one agent has the place, and its report can be read`() throws {
        let files = AgentFiles(in: folder.path)
        #expect(files.read() == nil)
        let held = try #require(try files.hold())
        try files.write(AgentReport(pid: 7, started: 1, version: "1"))
        #expect(files.read()?.pid == 7)
        #expect(try files.hold() == nil)
        withExtendedLifetime(held) {}
    }

    @Test func `a look at the report keeps no agent from its place`() async throws {
        let files = AgentFiles(in: folder.path)
        async let looks: Void = Self.look(files)
        var refusals = 0
        for _ in 0..<5_000 where try files.hold() == nil { refusals += 1 }
        await looks
        // A process that another test starts has the descriptors of this one for a moment, and with them the place. A
        // look that takes it refuses it to hundreds.
        #expect(refusals < 50)
    }

    @concurrent private static func look(_ files: AgentFiles) async {
        for _ in 0..<5_000 { _ = files.read() }
    }
}
