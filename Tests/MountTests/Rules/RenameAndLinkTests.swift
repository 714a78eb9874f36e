import TestSupport
import Testing

extension MountTests {
    /// A class is a property of the inode.
    @Suite struct RenameAndLink {
        @Test func aMoveIntoAClassedFolderChangesNothing() throws {
            try withScene { scene in
                try scene.makeFolder("strict", class: .complete)
                try scene.makeFile("file")
                try scene.rename("file", "strict/file").required("rename")
                #expect(try scene.classOf("strict/file") == .completeUntilFirstUserAuthentication)

                let told = try scene.mount.explain("strict/file")
                #expect(told["class"] as? String == ProtectionClass.completeUntilFirstUserAuthentication.rawValue)
                #expect(told["directoryClass"] as? String == ProtectionClass.complete.rawValue, "explain points it out")
            }
        }

        @Test func aMoveKeepsContentsClassAndMark() throws {
            try withScene { scene in
                let contents = [UInt8](seed: 3, count: 20_000)
                try scene.makeFolder("a", class: ProtectionClass.none)
                try scene.makeFolder("b")
                try scene.makeFile("a/file", class: .complete, contents)
                try scene.rename("a/file", "b/other").required()
                #expect(try scene.contents("b/other") == contents)
                #expect(try scene.classOf("b/other") == .complete)
                #expect(try scene.isExplicit("b/other"))
            }
        }

        /// The names of a folder are encrypted under its ID, and its record under its name binding: all must open after
        /// the move.
        @Test func aMovedFolderOpensWithAllThatIsInIt() throws {
            let vault = try Vault()
            let probe = try Probe()
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: probe)
                try scene.makeFolder("a")
                try scene.makeFolder("a/sub", class: .complete)
                try scene.makeFile("a/sub/file", [UInt8](seed: 4, count: 9000))
                try scene.makeFolder("b")
                try scene.rename("a", "b/moved").required()
                #expect(try scene.contents("b/moved/sub/file") == [UInt8](seed: 4, count: 9000))
            }
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: probe)
                let contents = try scene.contents("b/moved/sub/file")
                #expect(contents == [UInt8](seed: 4, count: 9000))
                #expect(try scene.classOf("b/moved/sub") == .complete)
            }
        }

        @Test func everyHardLinkHasIt() throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: ProtectionClass.none)
                try scene.makeFile("file", [UInt8](seed: 5, count: 5000))
                try scene.probe.ask("link", scene.path("file"), scene.path("folder/link")).required("link")
                try scene.setClass(.complete, of: "folder/link")
                #expect(try scene.classOf("file") == .complete)
                #expect(try scene.isExplicit("file"))
                try scene.probe.ask("unlink", scene.path("file")).required()
                #expect(try scene.contents("folder/link") == [UInt8](seed: 5, count: 5000))
                try scene.mount.lockNow()
                #expect(try scene.probe.open(0, scene.path("folder/link")) == .noKey)
                try scene.rename("folder/link", "again").required("rename while locked")
                #expect(try scene.probe.open(0, scene.path("again")) == .noKey)
            }
        }

        @Test func exchangeAndNoReplace() throws {
            try withScene { scene in
                try scene.makeFile("a", class: .complete, [1])
                try scene.makeFile("b", [2])
                #expect(try scene.probe.rename(scene.path("a"), scene.path("b"), "noreplace") == .refused("EEXIST"))
                let answer = try scene.probe.rename(scene.path("a"), scene.path("b"), "exchange")
                // Either the call exchanges both names, or it is not supported.
                if answer.succeeded {
                    #expect(try scene.contents("a") == [2])
                    #expect(try scene.contents("b") == [1])
                    #expect(try scene.classOf("b") == .complete)
                } else {
                    #expect(answer == .refused("EINVAL"))
                    #expect(try scene.contents("a") == [1])
                }
            }
        }

        @Test func longNamesMoveToo() throws {
            let vault = try Vault()
            let probe = try Probe()
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: probe)
                let long = String(repeating: "n", count: 255)
                try scene.makeFile(long, [UInt8](seed: 6, count: 100))
                #expect(try scene.probe.list(scene.mount.path) == [long])
                try scene.makeFolder("folder")
                try scene.rename(long, "folder/" + String(repeating: "m", count: 254)).required()
                try scene.rename("folder/" + String(repeating: "m", count: 254), "short").required()
                #expect(try scene.contents("short") == [UInt8](seed: 6, count: 100))
                try scene.probe.ask("rmdir", scene.path("folder")).required("the folder is empty again")
                let tooLong = try scene.probe.open(0, scene.path(long + "n"), "rw,creat")
                #expect(tooLong == .refused("ENAMETOOLONG"))
            }
            // The sidecars of long names go when all is durable, at the latest with the unmount.
            #expect(!Disk.tree(vault.path).contains { $0.contains("lk.long") }, "no sidecar is left")
        }
    }
}
