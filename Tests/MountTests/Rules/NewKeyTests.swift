import TestSupport
import Testing

extension MountTests {
    /// The header shows whether a file's key was replaced: RFC 3394 is deterministic, so the wrap under one class key
    /// is the same after a change to another class and back, unless the file key is a new one.
    @Suite struct NewKey {
        private func wrap(_ scene: Scene, _ name: String) throws -> [UInt8] {
            try BackingFile(scene.mount.backingPath(name)).header.wrap
        }

        @Test func aStricterClassOnAnEmptyFileMakesANewKey() throws {
            try withScene { scene in
                try scene.makeFile("file", [])
                let before = try wrap(scene, "file")
                try scene.setClass(.complete, of: "file")
                try scene.setClass(.completeUntilFirstUserAuthentication, of: "file")
                let after = try wrap(scene, "file")
                #expect(after != before, "the key that a weaker class wrapped is in use still")
                #expect(after.count == 40)
            }
        }

        /// A file with contents keeps its key when the class gets weaker: so the stricter class must have made the key.
        @Test func theNewKeyIsThatOfTheStricterClass() throws {
            try withScene { scene in
                try scene.makeFile("file", [])
                let before = try wrap(scene, "file")
                try scene.setClass(.complete, of: "file")
                let file = scene.path("file")
                try shell("seq 1000 > '\(file)'; sync '\(file)'")
                try scene.setClass(.completeUntilFirstUserAuthentication, of: "file")
                #expect(try wrap(scene, "file") != before, "the contents have a key that a weaker class wrapped")
            }
        }

        @Test func aFileWithContentsKeepsItsKey() throws {
            try withScene { scene in
                try scene.makeFile("file", [UInt8](seed: 1, count: 5000))
                let before = try wrap(scene, "file")
                try scene.setClass(.complete, of: "file")
                #expect(try wrap(scene, "file") != before)
                try scene.setClass(.completeUntilFirstUserAuthentication, of: "file")
                #expect(try wrap(scene, "file") == before)
                #expect(try scene.contents("file") == [UInt8](seed: 1, count: 5000))
            }
        }

        @Test func rekeyMakesANewKeyForAFileWithContents() throws {
            try withScene { scene in
                let contents = [UInt8](seed: 2, count: 3_000_000)
                try scene.makeFile("file", contents)
                try scene.probe.ask("chmod", scene.path("file"), "0640").required()
                let before = try wrap(scene, "file")
                try scene.mount.latchkey("class", "set", "--rekey", "complete", scene.path("file")).succeeded()
                #expect(try scene.classOf("file") == .complete)
                #expect(try scene.contents("file") == contents)
                #expect(try scene.probe.ask("stat", scene.path("file")).words()[0] == "100640")
                #expect(try scene.probe.list(scene.mount.path) == ["file"], "no temporary file of the copy")
                try scene.setClass(.completeUntilFirstUserAuthentication, of: "file")
                #expect(try wrap(scene, "file") != before)
            }
        }

        @Test func theHeaderSaysTheClass() throws {
            try withScene { scene in
                for protection in ProtectionClass.allCases {
                    try scene.makeFile("file", class: protection)
                    let header = try BackingFile(scene.mount.backingPath("file")).header
                    #expect(header.classCode == protection.code)
                    #expect(header.isExplicit)
                    #expect(header.algorithm == (protection == .completeUnlessOpen ? 2 : 1))
                    #expect(header.wrap.count == (protection == .completeUnlessOpen ? 72 : 40))
                }
            }
        }
    }
}
