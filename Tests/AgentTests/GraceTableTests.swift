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

    private func mount(
        _ instance: String, owner: UInt32 = 1000, _ state: Status.State = .locking, sequence: Int = 1
    ) throws -> ServedMount {
        try ServedMount.ofTest(instance, owner: owner, state, sequence: sequence)
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

    @Test func `what was wanted before a person has unlocked the mount does not count`() throws {
        let logout = SourceEvent(.logout, user: 1000)
        _ = table.join(logout, try mount("a", .unlocked, sequence: 4))
        let later = try mount("a", .unlocked, sequence: 6)
        #expect(table.join(screen, later) === later.client)
        #expect(table.leave(screen, later) === later.client)
    }

    @Test func `two sources that find it unlocked at the same time both count`() throws {
        let first = try mount("a", .unlocked, sequence: 4)
        _ = table.join(lid, first)
        #expect(table.join(screen, try mount("a", .unlocked, sequence: 4)) === first.client)
        #expect(table.leave(screen, first) == nil)
        #expect(table.leave(lid, first) === first.client)
    }

    @Test func `another daemon in the place of one that has ended has no lock`() throws {
        let (old, new) = (try mount("a"), try mount("b"))
        _ = table.join(lid, old)
        #expect(table.leave(lid, new) == nil)
    }
}

extension ServedMount {
    /// Of a daemon that is not there.
    static func ofTest(
        _ instance: String, owner: UInt32 = 1000, _ state: Status.State = .locking, sequence: Int = 1
    ) throws -> ServedMount {
        let status = Status(
            state: state, mountPoint: "/mount", vault: "/vault", volume: "", device: 1, deviceKey: "software",
            grace: 10, readOnly: false, version: "1", formatVersion: 1, pid: 1, instance: instance, sequence: sequence)
        let client = ControlClient(connected: try UnixSocket.pair().0)
        return ServedMount(client: client, status: status, owner: owner)
    }
}
