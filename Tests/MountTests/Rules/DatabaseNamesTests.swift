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
    }
}
