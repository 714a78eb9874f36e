import Testing

extension MountTests {
    /// The atomic save of an editor: write a new file, sync it, rename it over the old one.
    @Suite struct AtomicSave {
        private func save(_ scene: Scene, from new: String, over old: String) throws -> Answer {
            try scene.makeFile(new, [9, 9, 9])
            return try scene.rename(new, old)
        }

        @Test(arguments: ProtectionClass.allCases)
        func inTheSameFolderTheExplicitClassStays(_ protection: ProtectionClass) throws {
            try withScene { scene in
                try scene.makeFile("file", class: protection)
                try save(scene, from: "file.new", over: "file").required("rename")
                #expect(try scene.contents("file") == [9, 9, 9])
                #expect(try scene.classOf("file") == protection)
                #expect(try scene.isExplicit("file"))
            }
        }

        @Test func theReplacedFilesClassWinsOverTheNewOnes() throws {
            try withScene { scene in
                try scene.makeFile("file", class: .complete)
                try scene.makeFile("file.new", class: ProtectionClass.none, [9])
                try scene.rename("file.new", "file").required()
                #expect(try scene.classOf("file") == .complete)
            }
        }

        @Test func anInheritedClassIsNotTaken() throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: .complete)
                try scene.makeFile("folder/file")
                try scene.setClass(ProtectionClass.none, of: "folder")
                try save(scene, from: "folder/new", over: "folder/file").required()
                #expect(try scene.classOf("folder/file") == ProtectionClass.none)
                #expect(try !scene.isExplicit("folder/file"))
            }
        }

        @Test func fromAnotherFolderOnlyAStricterClassIsTaken() throws {
            try withScene { scene in
                try scene.makeFolder("tmp")
                try scene.makeFile("strict", class: .complete)
                try scene.makeFile("weak", class: ProtectionClass.none)
                try save(scene, from: "tmp/new", over: "strict").required()
                #expect(try scene.classOf("strict") == .complete)
                #expect(try scene.isExplicit("strict"))
                try save(scene, from: "tmp/new", over: "weak").required()
                #expect(try scene.classOf("weak") == .completeUntilFirstUserAuthentication)
            }
        }

        /// A program that has a file of class B open may use it while that is locked, and no other program may: also
        /// not by way of a weaker class that a file takes from the one that it replaces.
        @Test(arguments: [ProtectionClass.completeUntilFirstUserAuthentication, .none])
        func anOpenFileOfClassBTakesNoWeakerOneWhileLocked(_ weaker: ProtectionClass) throws {
            try withScene { scene in
                try scene.makeFile("mail", class: .completeUnlessOpen, [1, 2, 3])
                try scene.probe.open(0, scene.path("mail"), "rw").required()
                try scene.mount.lockNow()
                try scene.makeFile("bait", class: weaker, [])
                #expect(try scene.rename("mail", "bait") == .noKey)
                #expect(try scene.classOf("mail") == .completeUnlessOpen)
                #expect(try scene.classOf("bait") == weaker)
                #expect(try Probe().open(0, scene.path("mail"), "r") == .noKey)
                #expect(try scene.probe.pread(0, 0, 3).bytes() == [1, 2, 3])
                try scene.mount.unlock()
                try scene.rename("mail", "bait").required()
                #expect(try scene.classOf("bait") == weaker)
            }
        }

        /// Without the keys a save over a file of class A fails with ENOKEY.
        @Test func withoutTheKeysItIsRefusedAndBothFilesStay() throws {
            try withScene { scene in
                try scene.makeFile("file", class: .complete, [1, 2, 3])
                try scene.mount.lockNow()
                #expect(try save(scene, from: "file.new", over: "file") == .noKey)
                #expect(try scene.contents("file.new") == [9, 9, 9])
                try scene.mount.unlock()
                #expect(try scene.contents("file") == [1, 2, 3])
                #expect(try scene.classOf("file") == .complete)
                #expect(try scene.classOf("file.new") == .completeUntilFirstUserAuthentication)
            }
        }

        /// B's public key is always in memory, so a save over an explicit B works while locked.
        @Test func overBItWorksWhileLocked() throws {
            try withScene { scene in
                try scene.makeFile("file", class: .completeUnlessOpen)
                try scene.mount.lockNow()
                try save(scene, from: "file.new", over: "file").required()
                #expect(try scene.classOf("file") == .completeUnlessOpen)
                #expect(try scene.probe.open(0, scene.path("file")) == .noKey)
                try scene.mount.unlock()
                #expect(try scene.contents("file") == [9, 9, 9])
            }
        }

        /// A program that had the replaced file open keeps the use of it.
        @Test func aHandleOfTheReplacedFileKeepsIt() throws {
            try withScene { scene in
                try scene.makeFile("file", class: .complete, [1, 2, 3])
                try scene.probe.open(0, scene.path("file"), "rw").required()
                try save(scene, from: "file.new", over: "file").required()
                #expect(try scene.probe.pread(0, 0, 10).bytes() == [1, 2, 3])
                try scene.mount.lockNow()
                #expect(try scene.probe.pread(0, 0, 10) == .noKey, "an unlinked file locks too")
                try scene.mount.unlock()
                #expect(try scene.probe.pread(0, 0, 10).bytes() == [1, 2, 3])
            }
        }
    }
}
