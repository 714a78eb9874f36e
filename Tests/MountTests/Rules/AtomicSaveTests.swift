import Foundation
import TestSupport
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

        /// What a user set on the new file is not undone by a weaker class of the file that it replaces.
        @Test func aWeakerClassDoesNotWinOverOneThatWasSet() throws {
            try withScene { scene in
                try scene.makeFile("file", class: ProtectionClass.none)
                try scene.makeFile("file.new", class: .complete, [9])
                try scene.rename("file.new", "file").required()
                #expect(try scene.classOf("file") == .complete)
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

        /// A class that was not set is taken if it is stricter, and is still not set then: `cp -a` does not carry it.
        @Test func aStricterInheritedClassStays() throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: .complete)
                try scene.makeFile("folder/file")
                try scene.setClass(ProtectionClass.none, of: "folder")
                for turn in 1...3 {
                    try save(scene, from: "folder/new", over: "folder/file").required("turn \(turn)")
                    #expect(try scene.classOf("folder/file") == .complete)
                    #expect(try !scene.isExplicit("folder/file"))
                }
                #expect(try scene.contents("folder/file") == [9, 9, 9])
            }
        }

        @Test func neitherAWeakerInheritedClassNorOneOverAClassThatWasSetIsTaken() throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: ProtectionClass.none)
                try scene.makeFile("folder/file")
                try scene.setClass(.complete, of: "folder")
                try save(scene, from: "folder/new", over: "folder/file").required()
                #expect(try scene.classOf("folder/file") == .complete)
                #expect(try !scene.isExplicit("folder/file"))
                try scene.makeFile("folder/set", class: ProtectionClass.none)
                try scene.rename("folder/set", "folder/file").required()
                #expect(try scene.classOf("folder/file") == ProtectionClass.none)
                #expect(try scene.isExplicit("folder/file"))
            }
        }

        /// The index of a database is mapped by all of its users, whom a lock of class A would kill.
        @Test func anIndexOfADatabaseTakesNoInheritedClass() throws {
            try withScene { scene in
                try scene.makeFolder("strict", class: .complete)
                try scene.makeFile("strict/file")
                try scene.rename("strict/file", "db-shm").required()
                try save(scene, from: "new", over: "db-shm").required()
                #expect(try scene.classOf("db-shm") == .completeUntilFirstUserAuthentication)
            }
        }

        /// A file was made in a folder of class A and moved to one of class C, where programs save it. Each makes a new
        /// file of class C and renames it over.
        @Test(arguments: [
            "sed -i s/one/two/ FILE",
            "python3 -c 'import os; open(\"new\", \"w\").write(\"two\\n\"); os.replace(\"new\", \"FILE\")'",
            "printf 'two\\n' > other/new; python3 -c 'import os; os.replace(\"other/new\", \"FILE\")'",
            "printf 'two\\n' > other/new; mv -f other/new FILE",
            "mkdir source; printf 'two\\n' > source/file; rsync --ignore-times source/file FILE",
            """
            mkdir source; printf 'two\\n' > source/file
            rsync --ignore-times -a --temp-dir="$PWD/other" source/file FILE
            """,
        ])
        func aMovedFileKeepsItsClass(_ save: String) throws {
            try withScene { scene in
                try scene.makeFolder("strict", class: .complete)
                try scene.makeFolder("other")
                try scene.makeFolder("folder")
                try scene.makeFile("strict/file", Array("one\n".utf8))
                try scene.rename("strict/file", "folder/file").required()
                let inode = try shell("stat -c %i folder/file", in: scene.mount.path).text
                let command = save.replacingOccurrences(of: "FILE", with: "folder/file")
                try shell(command, in: scene.mount.path).succeeded()
                #expect(try shell("stat -c %i folder/file", in: scene.mount.path).text != inode, "it was replaced")
                #expect(try scene.contents("folder/file") == Array("two\n".utf8))
                #expect(try scene.classOf("folder/file") == .complete)
                #expect(try !scene.isExplicit("folder/file"))
                try scene.mount.lockNow()
                #expect(try scene.probe.open(0, scene.path("folder/file")) == .noKey)
                #expect(try self.save(scene, from: "folder/again", over: "folder/file") == .noKey)
                try scene.mount.unlock()
                #expect(try scene.contents("folder/file") == Array("two\n".utf8))
                #expect(try scene.contents("folder/again") == [9, 9, 9])
            }
        }

        /// A repository moves out of a folder of class A; git writes its index and settings by renames.
        @Test func gitKeepsItsFilesClass() throws {
            try withScene { scene in
                try scene.makeFolder("strict", class: .complete)
                try shell("git init -q strict/work && cd strict/work && touch a && git add a", in: scene.mount.path)
                    .succeeded()
                try scene.makeFolder("plain")
                try shell(
                    "mkdir plain/.git; mv strict/work/.git/* plain/.git; mv strict/work/a plain", in: scene.mount.path
                ).succeeded()
                #expect(try scene.classOf("plain/.git") == .completeUntilFirstUserAuthentication)
                try shell("git config user.name me && touch b && git add b", in: scene.path("plain")).succeeded()
                #expect(try scene.classOf("plain/.git/index") == .complete)
                #expect(try scene.classOf("plain/.git/config") == .complete)
                #expect(try shell("git ls-files", in: scene.path("plain")).text == "a\nb\n")
            }
        }

        /// Nothing is replaced, so no class is taken.
        @Test func anExchangeTakesNoInheritedClass() throws {
            try withScene { scene in
                try scene.makeFolder("strict", class: .complete)
                try scene.makeFile("strict/a")
                try scene.makeFile("b")
                let answer = try scene.probe.rename(scene.path("b"), scene.path("strict/a"), "exchange")
                #expect(answer.succeeded || answer == .refused("EINVAL"))
                let other = answer.succeeded ? "b" : "strict/a"
                #expect(try scene.classOf(other) == .complete)
                let own = answer.succeeded ? "strict/a" : "b"
                #expect(try scene.classOf(own) == .completeUntilFirstUserAuthentication)
            }
        }

        @Test func fromAnotherFolderOnlyAStricterClassIsTaken() throws {
            try withScene { scene in
                try scene.makeFolder("tmp")
                try scene.makeFile("strict", class: .complete)
                try scene.makeFile("weak", class: ProtectionClass.none)
                try scene.makeFolder("folder", class: .complete)
                try scene.makeFile("folder/inherits")
                try save(scene, from: "tmp/new", over: "folder/inherits").required()
                #expect(try scene.classOf("folder/inherits") == .complete)
                #expect(try !scene.isExplicit("folder/inherits"))
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
                // Inherited: a class that was set on it is not weakened.
                try scene.makeFolder("box", class: .completeUnlessOpen)
                try scene.makeFile("box/mail", [1, 2, 3])
                try scene.makeFile("box/bait", class: weaker, [])
                try scene.probe.open(0, scene.path("box/mail"), "rw").required()
                try scene.mount.lockNow()
                #expect(try scene.rename("box/mail", "box/bait") == .noKey)
                #expect(try scene.classOf("box/mail") == .completeUnlessOpen)
                #expect(try scene.classOf("box/bait") == weaker)
                #expect(try Probe().open(0, scene.path("box/mail"), "r") == .noKey)
                #expect(try scene.probe.pread(0, 0, 3).bytes() == [1, 2, 3])
                try scene.mount.unlock()
                try scene.rename("box/mail", "box/bait").required()
                #expect(try scene.classOf("box/bait") == weaker)
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
