@testable import Agent
@testable import Control
import LockSources
import Posix
import TestSupport
import Testing

/// Which source still wants a lock, and over which connection it was asked for.
@Suite struct GraceTableTests {
    private let table = GraceTable()
    private let lid = SourceEvent(.lid, user: nil)
    private let screen = SourceEvent(.sessionLock, user: 1000, subject: "c1")

    private func mount(_ instance: String, owner: UInt32 = 1000) throws -> ServedMount {
        let status = Status(
            state: .locking, mountPoint: "/mount", vault: "/vault", volume: "", device: 1, deviceKey: "software",
            grace: 10, readOnly: false, version: "1", formatVersion: 1, pid: 1, instance: instance)
        let client = ControlClient(connected: try UnixSocket.pair().0)
        return ServedMount(client: client, status: status, owner: owner)
    }

    @Test func `two sources at once ask over one connection, and the last takes it back`() throws {
        let (first, second) = (try mount("a"), try mount("a"))
        #expect(table.join(lid, first) === first.client)
        #expect(table.join(screen, second) === first.client)
        #expect(table.leave(lid, second) == nil)
        #expect(table.leave(screen, second) === first.client)
        #expect(table.leave(screen, second) == nil)
    }

    @Test func `the daemons of one user use up nothing`() throws {
        let mine = try mount("mine", owner: 1001)
        _ = table.join(lid, mine)
        for number in 0..<200 {
            let mount = try mount("\(number)")
            #expect(table.join(screen, mount) === mount.client)
        }
        let kept = try (0..<200).map { try mount("\($0)") }.count { table.leave(screen, $0) != nil }
        #expect(kept == 64)
        #expect(table.leave(lid, mine) === mine.client)
    }

    @Test func `another daemon in the place of one that has ended has no lock`() throws {
        let (old, new) = (try mount("a"), try mount("b"))
        _ = table.join(lid, old)
        #expect(table.leave(lid, new) == nil)
    }
}
