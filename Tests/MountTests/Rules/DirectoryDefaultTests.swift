import TestSupport
import Testing

extension MountTests {
    /// A new file gets its directory's default class; a new directory its parent's.
    @Suite struct DirectoryDefault {
        @Test func theRootsIsChosenAtInit() throws {
            try withScene { scene in
                try scene.makeFile("file")
                #expect(try scene.classOf("") == .completeUntilFirstUserAuthentication, "C unless said otherwise")
                #expect(try scene.classOf("file") == .completeUntilFirstUserAuthentication)
            }
            try withScene(["--default-class", "complete"]) { scene in
                try scene.makeFile("file")
                #expect(try scene.classOf("") == .complete)
                #expect(try scene.classOf("file") == .complete)
            }
        }

        @Test(arguments: ProtectionClass.allCases)
        func filesAndFoldersTakeIt(_ protection: ProtectionClass) throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: protection)
                try scene.makeFile("folder/file")
                try scene.makeFolder("folder/sub")
                try scene.makeFolder("folder/sub/sub")
                try scene.makeFile("folder/sub/sub/file")
                for name in ["file", "sub", "sub/sub", "sub/sub/file"] {
                    #expect(try scene.classOf("folder/" + name) == protection, "\(name)")
                    #expect(try !scene.isExplicit("folder/" + name), "\(name)")
                }
            }
        }

        @Test func aLaterChangeReachesOnlyWhatIsCreatedLater() throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: .complete)
                try scene.makeFile("folder/before")
                try scene.makeFolder("folder/sub")
                try scene.setClass(ProtectionClass.none, of: "folder")
                try scene.makeFile("folder/after")
                try scene.makeFile("folder/sub/file")
                #expect(try scene.classOf("folder/before") == .complete)
                #expect(try scene.classOf("folder/after") == ProtectionClass.none)
                #expect(try scene.classOf("folder/sub") == .complete, "its parent's, at the time of the creation")
                #expect(try scene.classOf("folder/sub/file") == .complete)
            }
        }

        /// `class set -R` reaches everything below, and `class get` tells.
        @Test func theCommandSetsAWholeTree() throws {
            try withScene { scene in
                try scene.makeFolder("folder")
                try scene.makeFolder("folder/sub")
                try scene.makeFile("folder/sub/file")
                try scene.mount.latchkey("class", "set", "complete", scene.path("folder"), "-R").succeeded()
                for name in ["folder", "folder/sub", "folder/sub/file"] {
                    #expect(try scene.classOf(name) == .complete, "\(name)")
                }
                let told = try scene.mount.latchkey("class", "get", scene.path("folder/sub/file")).succeeded()
                #expect(told.text.contains("complete"))
            }
        }
    }
}
