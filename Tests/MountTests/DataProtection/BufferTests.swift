import TestSupport
import Testing

extension MountTests.DataProtection {
    @Test func whatIsBufferedIsWrittenInItsOrderWhenUnlocked() throws {
        try withProtected { it in
            try it.ask("buffer", it.path("")).required()
            #expect(try it.ask("keep", it.path("at-once"), "01") == .ok("written"))
            try it.mount.lockNow()
            try it.ask("run").required()
            #expect(try it.ask("keep", it.path("file"), "01") == .ok("pending"))
            #expect(try it.ask("keep", it.path("other"), "0202") == .ok("pending"))
            #expect(try it.ask("keep", it.path("file"), "030303") == .ok("pending"))
            #expect(try it.ask("pending") == .ok("file:1 other:2 file:3 6"))
            #expect(try it.names() == ["at-once"], "nothing of it is on the disk")
            #expect(try it.ask("flush") == .refused("locked"))

            try it.mount.unlock()
            try until("all is written") { try it.ask("pending") == .ok("0") }
            #expect(try it.scene.contents("file") == [3, 3, 3], "the last one is the last")
            #expect(try it.scene.contents("other") == [2, 2])
            #expect(try it.scene.classOf("file") == .complete)
            try it.ask("cancel").required()
            #expect(try it.ask("ran") == .refused("CancellationError"))
        }
    }

    /// A cancelled call reports the cancellation, not an ended mount: its connection ends at the same moment.
    @Test func aCancelledRunSaysThatItIs() throws {
        try withProtected { it in
            try it.ask("buffer", it.path("")).required()
            for _ in 0..<200 {
                try it.ask("run").required()
                try it.ask("cancel").required()
                #expect(try it.ask("ran") == .refused("CancellationError"))
            }
        }
    }

    /// An error other than the lock's is reported; no pending write is dropped or reordered because of it.
    @Test func aFailureKeepsAllThatIsPending() throws {
        try withProtected { it in
            try it.ask("buffer", it.path("")).required()
            #expect(try it.ask("keep", it.path("missing/file"), "01") == .refused("ENOENT"))
            #expect(try it.ask("keep", it.path("file"), "0202") == .refused("ENOENT"))
            #expect(try it.ask("pending") == .ok("file:1 file:2 3"))
            try it.scene.makeFolder("missing")
            #expect(try it.ask("flush") == .ok())
            #expect(try it.scene.contents("missing/file") == [1])
            #expect(try it.scene.contents("file") == [2, 2])
            #expect(try it.ask("pending") == .ok("0"))
        }
    }

    /// The mount ends and is mounted again: pending writes are still there, and still wait for their class.
    @Test func theEndOfTheMountLosesNothing() throws {
        let vault = try Vault()
        let program = try Probe(Built.protected, environment: vault.environment)
        let file = vault.folder.path("mount/file")
        try withMount(vault) { mount in
            try mount.lockNow()
            try program.ask("buffer", mount.path).required()
            try program.ask("keep", file, "010203").required()
            try program.ask("run").required()
        }
        #expect(try program.ask("ran") == .refused("mountEnded"))
        #expect(try program.ask("flush") == .refused("notProtected"))
        #expect(!Disk.exists(file), "never where nothing protects it")
        #expect(try program.ask("pending") == .ok("file:3 3"))
        try withMount(vault) { mount in
            #expect(try program.ask("flush") == .ok())
            let probe = try Probe()
            #expect(try probe.contents(file) == [1, 2, 3])
            probe.process.send(9)
            probe.process.wait()
        }
        #expect(try program.ask("keep", file, "01") == .refused("notProtected"))
        #expect(try program.ask("take") == .ok("1"))
        #expect(try program.ask("pending") == .ok("0"))
    }
}
