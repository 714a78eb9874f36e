import TestSupport
import Testing

extension MountTests.DataProtection {
    @Test func eachChangeIsToldOnceAndInOrder() throws {
        try withProtected(unlocked: false, grace: 600) { it in
            #expect(try it.ask("available", it.path("")) == .ok("false"))
            #expect(try it.ask("listen", it.path("")) == .ok())
            try it.mount.unlock()
            #expect(try it.ask("available", it.path("")) == .ok("true"))
            // The change came before the program asks for one, and is delivered all the same.
            #expect(try it.ask("next") == .ok("didBecomeAvailable"))

            try it.mount.latchkey("lock", it.mount.path).succeeded()
            #expect(try it.ask("next") == .ok("willBecomeUnavailable"))
            #expect(try it.ask("available", it.path("")) == .ok("true"), "the grace is there to be used")
            try it.mount.unlock()
            #expect(try it.ask("next") == .ok("didBecomeAvailable"))

            try it.mount.latchkey("lock", it.mount.path).succeeded()
            try it.mount.lockNow()
            try it.mount.unlock()
            try it.mount.lockNow()
            let told = try (0..<5).map { _ in try it.ask("next").words()[0] }
            #expect(
                told == [
                    "willBecomeUnavailable", "didBecomeUnavailable", "didBecomeAvailable", "willBecomeUnavailable",
                    "didBecomeUnavailable",
                ])
            #expect(try it.ask("available", it.path("")) == .ok("false"))
        }
    }

    @Test func theEndOfTheMountIsAnError() throws {
        let mount = try MountedVault(try Vault())
        let program = try Probe(Built.protected, environment: mount.vault.environment)
        #expect(try program.ask("listen", mount.path) == .ok())
        try mount.lockNow()
        try mount.unmount()
        // All changes have happened before the program asks for the first one.
        #expect(try program.ask("next") == .ok("willBecomeUnavailable"))
        #expect(try program.ask("next") == .ok("didBecomeUnavailable"))
        #expect(try program.ask("next") == .refused("mountEnded"))
        #expect(try program.ask("next") == .ok("end"))
    }

    /// More listeners, one after another, than a daemon has connections: each closes its own when it stops.
    @Test func aStoppedListenerClosesItsConnection() throws {
        try withProtected { it in
            for turn in 0..<80 {
                #expect(try it.ask("listen", it.path("")) == .ok(), "turn \(turn)")
                #expect(try it.ask("connections") == .ok("1"))
                #expect(try it.ask("deafen") == .ok())
                // The thread that owns the connection ends a moment later.
                try until("the connection is closed") { try it.ask("connections") == .ok("0") }
            }
        }
    }
}
