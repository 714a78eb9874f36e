import TestSupport
import Testing

extension MountTests.DataProtection {
    /// The program that docs/DATAPROTECTION.md shows.
    @Test func theExampleFilesLettersAcrossALock() throws {
        try withProtected { it in
            let letterbox = try Probe(Built.letterbox, [it.mount.path], environment: it.mount.vault.environment)
            #expect(try letterbox.heard() == "protected data is available")
            #expect(try letterbox.told("one") == "letter-1: NSFileProtectionComplete")
            try it.mount.lockNow()
            #expect(try letterbox.heard() == "willBecomeUnavailable")
            #expect(try letterbox.heard() == "didBecomeUnavailable")
            #expect(
                try letterbox.told("two") == "letter-2: NSFileProtectionCompleteUntilFirstUserAuthentication")
            #expect(try letterbox.told("!three") == "letter-3: waits in memory")
            #expect(try it.names() == ["letter-1", "letter-2"])
            try it.mount.unlock()
            #expect(try letterbox.heard() == "didBecomeAvailable")
            #expect(try letterbox.heard() == "raised 1")
            for (name, text) in [("letter-1", "one"), ("letter-2", "two"), ("letter-3", "three")] {
                #expect(try it.scene.contents(name) == Array(text.utf8))
                #expect(try it.scene.classOf(name) == .complete)
            }
            letterbox.endInput()
            #expect(letterbox.process.wait(seconds: 20) == 0)
        }
    }

    @Test func theExampleSaysWhereNothingIsProtected() throws {
        let folder = try TemporaryFolder()
        let outcome = try attempt(Built.letterbox, [folder.path], input: Array("letter\n".utf8))
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("is not protected"), "\(outcome)")
        #expect(Disk.tree(folder.path) == [])
    }
}

extension Probe {
    /// A line that the program prints about itself.
    fileprivate func heard() throws -> String {
        guard case .refused(let line) = try answer() else { throw HarnessError("an answer to nothing") }
        return line
    }

    fileprivate func told(_ line: String) throws -> String {
        try send([line])
        return try heard()
    }
}
