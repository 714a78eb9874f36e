import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Section 4's table: directories, their records, and planted entries.
    @Suite struct DirectoryAttacks {
        private func record(_ scene: AttackScene, _ name: String) -> String {
            scene.backing[name]! + "/lk.dir"
        }

        /// Everything in the folder is refused, and no file gets a default class.
        private func expectRefused(_ scene: AttackScene, _ name: String) throws {
            try scene.afterwards(except: ["\(name)/inner"]) { scene throws in
                #expect(try scene.probe.ask("list", scene.path(name)) == .refused("EIO"))
                #expect(try scene.probe.open(0, scene.path("\(name)/inner")) == .refused("EIO"))
                #expect(try scene.probe.open(0, scene.path("\(name)/new"), "rw,creat") == .refused("EIO"))
                #expect(try scene.probe.list(scene.mount.path).contains(name), "its name is there still")
            }
        }

        @Test func aRecordCopiedFromAnotherFolder() throws {
            let scene = try AttackScene()
            try shell("rm '\(record(scene, "folder"))'; cp -P '\(record(scene, "other"))' '\(record(scene, "folder"))'")
                .succeeded()
            try expectRefused(scene, "folder")
        }

        @Test func aMissingRecord() throws {
            let scene = try AttackScene()
            try FileManager.default.removeItem(atPath: record(scene, "folder"))
            try expectRefused(scene, "folder")
        }

        @Test(arguments: [0, 20, 58])
        func aChangedRecord(_ position: Int) throws {
            let scene = try AttackScene()
            let path = record(scene, "folder")
            var target = Array(try Disk.target(ofLink: path).utf8)
            target[position] = target[position] == 65 ? 66 : 65
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: String(decoding: target, as: UTF8.self))
            try expectRefused(scene, "folder")
        }

        @Test func aFileInPlaceOfTheRecord() throws {
            let scene = try AttackScene()
            let path = record(scene, "folder")
            let target = try Disk.target(ofLink: path)
            try FileManager.default.removeItem(atPath: path)
            try Disk.write(Array(target.utf8), to: path)
            try expectRefused(scene, "folder")
        }

        @Test func foldersExchanged() throws {
            let scene = try AttackScene()
            let (one, other) = (scene.backing["folder"]!, scene.backing["other"]!)
            try shell("mv '\(one)' x; mv '\(other)' '\(one)'; mv x '\(other)'", in: scene.vault.folder.path).succeeded()
            try scene.afterwards(except: ["folder/inner", "other/inner"]) { scene throws in
                for name in ["folder", "other"] {
                    #expect(try scene.probe.ask("list", scene.path(name)) == .refused("EIO"), "\(name)")
                    #expect(try scene.probe.open(0, scene.path("\(name)/inner")) == .refused("EIO"), "\(name)")
                }
            }
        }

        /// A folder copied to a name of its own does not decrypt there; copied over another folder, its record does
        /// not open.
        @Test func aFolderCopied() throws {
            let scene = try AttackScene()
            let (one, other) = (scene.backing["folder"]!, scene.backing["other"]!)
            try shell("rm -r '\(other)'; cp -a '\(one)' '\(other)'").succeeded()
            try expectRefused(scene, "other")
        }

        /// Foreign names are not shown, and do not block the other entries.
        @Test func foreignNames() throws {
            let scene = try AttackScene()
            let folder = scene.backing["folder"]!
            try shell(
                """
                cd '\(folder)'
                touch '.syncthing.tmp' 'conflict (1)' lk.tmp.xyz lk.long.AAAA.name AAAAAAAAAAAAAAAAAAAAAAAA
                echo garbage > lk.long.BBBB; mkdir lk.tmp.dir 'foreign dir'; ln -s /etc/passwd lk.what
                """
            ).succeeded()
            try scene.afterwards(except: []) { scene throws in
                #expect(try scene.probe.list(scene.path("folder")) == ["inner"])
                try scene.makeFile("folder/new", [5])
                #expect(try scene.probe.list(scene.path("folder")) == ["inner", "new"])
                try scene.probe.ask("unlink", scene.path("folder/new")).required()
            }
            try withMount(scene.vault) { mount in
                let probe = try Probe()
                try probe.ask("unlink", mount.file("folder/inner")).required()
                #expect(try probe.ask("rmdir", mount.file("folder")) == .refused("ENOTEMPTY"))
            }
        }

        /// An attacker's symlinks in place of files and folders are not followed.
        @Test func symbolicLinksOutOfTheVault() throws {
            let scene = try AttackScene()
            let secret = try scene.vault.folder.write("outside", to: "outside")
            try shell("ln -sf '\(secret)' '\(scene.file("first").path)'").succeeded()
            try shell("rm -r '\(scene.backing["folder"]!)'; ln -s / '\(scene.backing["folder"]!)'").succeeded()
            try scene.afterwards(except: ["first", "folder/inner"]) { scene throws in
                #expect(try !scene.probe.read(scene.path("first")).succeeded)
                #expect(try !scene.probe.ask("list", scene.path("folder/")).succeeded)
            }
            #expect(try Disk.read(secret) == Array("outside".utf8))
        }
    }
}
