import TestSupport
import Testing

extension MountTests {
    /// SQLite's companions take the main file's class; a -shm is at most C.
    @Suite struct DatabaseNames {
        @Test(arguments: ProtectionClass.allCases)
        func companionsTakeTheMainFilesClass(_ protection: ProtectionClass) throws {
            try withScene { scene in
                try scene.makeFile("data.db", class: protection)
                for suffix in ["-wal", "-journal", "-shm"] {
                    try scene.makeFile("data.db" + suffix)
                }
                #expect(try scene.classOf("data.db-wal") == protection)
                #expect(try scene.classOf("data.db-journal") == protection)
                let atMostC = protection == ProtectionClass.none ? protection : .completeUntilFirstUserAuthentication
                #expect(try scene.classOf("data.db-shm") == atMostC)
            }
        }

        @Test func withoutAMainFileTheNameMeansNothing() throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: .completeUnlessOpen)
                try scene.makeFile("folder/data.db-wal")
                #expect(try scene.classOf("folder/data.db-wal") == .completeUnlessOpen)
            }
        }

        @Test func aStrictFolderDoesNotMakeTheIndexStrict() throws {
            try withScene(["--default-class", "complete"]) { scene in
                try scene.makeFile("data.db")
                try scene.makeFile("data.db-shm")
                #expect(try scene.classOf("data.db-shm") == .completeUntilFirstUserAuthentication)
            }
        }

        @Test func whileLocked() throws {
            try withScene { scene in
                try scene.makeFile("data.db", class: .complete)
                try scene.mount.lockNow()
                #expect(try scene.probe.open(0, scene.path("data.db-wal"), "rw,creat") == .noKey)
                #expect(try scene.probe.open(0, scene.path("data.db-journal"), "rw,creat") == .noKey)
                #expect(try scene.probe.open(0, scene.path("data.db-shm"), "rw,creat") == .ok())
                #expect(try scene.probe.list(scene.mount.path) == ["data.db", "data.db-shm"])
            }
        }

        /// Classes that were set by hand, and the output of explain for each file.
        @Test func explainWarnsWhereTheyDoNotGoTogether() throws {
            try withScene { scene in
                func warnings(_ name: String) throws -> [String] {
                    let told = try scene.mount.explain(name)
                    guard let warnings = told["warnings"] as? [String] else { throw HarnessError("explain: \(told)") }
                    return warnings
                }
                try scene.makeFile("data.db", class: .complete)
                for suffix in ["-wal", "-journal", "-shm"] { try scene.makeFile("data.db" + suffix) }
                for suffix in ["", "-wal", "-journal", "-shm"] { #expect(try warnings("data.db" + suffix).isEmpty) }

                try scene.setClass(.none, of: "data.db-wal")
                try scene.setClass(.complete, of: "data.db-shm")
                #expect(
                    try warnings("data.db-wal") == [
                        "data.db-wal is of class D, data.db of A: what it holds of the database is protected less"
                    ])
                #expect(try warnings("data.db-shm").first?.contains("a lock kills them") == true)
                #expect(try warnings("data.db").count == 2)
                #expect(try warnings("data.db-journal").isEmpty)
                let text = try scene.mount.latchkey("explain", scene.path("data.db")).succeeded().text
                #expect(text.contains("warning") && text.contains("protected less"))

                try scene.setClass(.none, of: "data.db")
                #expect(try warnings("data.db-journal").first?.contains("cannot be used") == true)
                try scene.makeFile("alone-wal", class: .complete)
                #expect(try warnings("alone-wal").isEmpty)
            }
        }
    }
}
