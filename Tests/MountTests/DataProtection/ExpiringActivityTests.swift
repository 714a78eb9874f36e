import TestSupport
import Testing

extension MountTests.DataProtection {
    /// `performExpiringActivity`: a lock waits for the block, and the block is told when it must end.
    @Suite struct ExpiringActivities {
        @Test func aLockWaitsForIt() throws {
            try withProtected(grace: 0) { it in
                #expect(try it.write(.complete, "draft", [1, 2, 3]) == .ok())
                #expect(try it.ask("activity", it.path(""), "600") == .ok())
                #expect(try it.ask("calls", "1") == .ok("began"))
                try it.mount.latchkey("lock", it.mount.path).succeeded()
                let status = try it.mount.status()
                #expect(status.state == "locking")
                #expect(status.holds?.map(\.because) == ["a test"] && status.holds?.map(\.command) == ["protected"])
                #expect(status.holds?.map(\.pid) == [Int(it.program.process.pid)])
                #expect(try it.ask("available", it.path("")) == .ok("true"))
                #expect(try it.write(.complete, "draft", [4]) == .ok())
                #expect(try it.ask("finish") == .ok())
                try until("the mount is locked") { try it.mount.status().state == "locked" }
                #expect(try it.ask("calls", "1") == .ok("began"), "it has ended by itself")
                #expect(try it.ask("connections") == .ok("0"))
            }
        }

        @Test func itIsToldOfALockThatDoesNotWait() throws {
            try withProtected { it in
                #expect(try it.ask("activity", it.path(""), "600") == .ok())
                #expect(try it.ask("calls", "1") == .ok("began"))
                try it.mount.lockNow()
                #expect(try it.ask("calls", "2") == .ok("began expired"))
                #expect(try it.ask("finish") == .ok())
            }
        }

        @Test func itIsToldWhenItsTimeIsOver() throws {
            try withProtected(grace: 0) { it in
                #expect(try it.ask("activity", it.path(""), "1") == .ok())
                #expect(try it.ask("calls", "1") == .ok("began"))
                try it.mount.latchkey("lock", it.mount.path).succeeded()
                #expect(try it.ask("calls", "2") == .ok("began expired"))
                try until("the mount is locked") { try it.mount.status().state == "locked" }
                #expect(try it.ask("finish") == .ok())
            }
        }

        /// Locked, without a time, outside of a mount, and with a daemon that has died: the block learns it at once.
        @Test func whatCannotBeHeldHasExpired() throws {
            try withProtected { it in
                #expect(try it.ask("activity", it.path(""), "0") == .ok())
                #expect(try it.ask("calls", "1") == .ok("expired"))
                #expect(try it.ask("activity", it.mount.vault.path, "600") == .ok())
                #expect(try it.ask("calls", "1") == .ok("expired"))
                try it.mount.lockNow()
                #expect(try it.ask("activity", it.path(""), "600") == .ok())
                #expect(try it.ask("calls", "1") == .ok("expired"))
                #expect(try it.ask("connections") == .ok("0"))
            }
        }
    }
}
