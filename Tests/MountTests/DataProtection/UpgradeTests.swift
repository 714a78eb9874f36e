import TestSupport
import Testing

extension MountTests.DataProtection {
    private func best(_ it: ProtectedScene, _ name: String) throws -> Answer {
        try it.ask("best", it.path(name), "010203")
    }

    @Test func whatCannotBeCompleteIsRaisedLater() throws {
        try withProtected { it in
            try it.scene.makeFolder("in")
            try it.scene.makeFolder("in/strict", class: .complete)
            try it.scene.makeFile("in/old", class: .complete, [9])
            try it.scene.makeFile("in/plain", class: .completeUntilFirstUserAuthentication)
            #expect(try best(it, "in/early") == .ok(ProtectionClass.complete.appleName))
            try it.mount.lockNow()
            let weak = Answer.ok(ProtectionClass.completeUntilFirstUserAuthentication.appleName)
            for name in ["in/late", "in/old", "in/strict/late"] {
                #expect(try best(it, name) == weak, "\(name)")
                #expect(try it.scene.contents(name) == [1, 2, 3], "\(name) is of use at once")
            }
            #expect(try it.ask("upgrade", it.path("in")) == .refused("locked"))
            try it.mount.unlock()
            #expect(try it.ask("upgrade", it.path("in")) == .ok("late late old"))
            for name in ["in/late", "in/old", "in/strict/late", "in/early"] {
                #expect(try it.scene.classOf(name) == .complete, "\(name)")
                #expect(try it.scene.probe.attributes(of: it.path(name)) == ["user.latchkey.class"], "no mark is left")
            }
            #expect(try it.scene.classOf("in/plain") == .completeUntilFirstUserAuthentication, "no call asked for that")
            #expect(try it.ask("upgrade", it.path("in")) == .ok(), "nothing is left to do")
        }
    }

    /// Each file is upgraded atomically: what a lock has interrupted continues afterwards, also between class and mark.
    @Test func anUpgradeGoesOnWhereItWasInterrupted() throws {
        try withProtected { it in
            try it.mount.lockNow()
            for name in ["a", "b", "c"] { try best(it, name).required() }
            try it.mount.unlock()
            // As a crash after the class of `a` leaves it.
            try it.scene.setClass(.complete, of: "a")
            try it.mount.lockNow()
            #expect(try it.ask("upgrade", it.path("")) == .refused("locked"))
            try it.mount.unlock()
            #expect(try it.ask("upgrade", it.path("")) == .ok("b c"))
            for name in ["a", "b", "c"] {
                #expect(try it.scene.classOf(name) == .complete)
                #expect(try it.scene.probe.attributes(of: it.path(name)) == ["user.latchkey.class"])
            }
        }
    }

    @Test func aClassThatWasSetSinceStays() throws {
        try withProtected { it in
            try it.mount.lockNow()
            try best(it, "file").required()
            try it.scene.setClass(.none, of: "file")
            try it.mount.unlock()
            #expect(try it.ask("upgrade", it.path("")) == .ok())
            #expect(try it.scene.classOf("file") == ProtectionClass.none)
        }
    }

    /// A file that cannot be upgraded does not keep the others from their class.
    @Test func aFileThatCannotBeRaisedIsTold() throws {
        let vault = try Vault()
        var damaged = ""
        try withScene(in: vault) { scene in
            let program = try Probe(Built.protected, environment: vault.environment)
            try scene.mount.lockNow()
            for name in ["a", "b"] { try program.ask("best", scene.path(name), "01").required() }
            damaged = try scene.mount.backingPath("a")
            program.process.send(9)
            program.process.wait()
        }
        try Disk.edit(damaged) { $0[100] ^= 1 }
        try withScene(in: vault) { scene in
            let program = try Probe(Built.protected, environment: vault.environment)
            #expect(try program.ask("upgrade", scene.mount.path) == .ok("!a b"))
            #expect(try scene.classOf("b") == .complete)
            program.process.send(9)
            program.process.wait()
        }
    }

    @Test func beforeTheFirstUnlockThereIsNoWeakerClassToTake() throws {
        try withProtected(unlocked: false) { it in
            let answer = try best(it, "file")
            #expect(answer == .refused("locked"))
            #expect(try it.names() == [])
        }
    }
}
