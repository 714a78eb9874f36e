import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A vault on a small ext4 disk, which programs fill in every way: each gets ENOSPC, acknowledged bytes are there,
    /// and once there is room all calls work again.
    @Suite struct SmallDisk {
        private static let kept = [UInt8](seed: 1, count: 300_000)
        private static let long = String(repeating: "l", count: 200)

        /// - Parameter inodes: how many files the disk may have.
        private func withSmallDisk(inodes: Int, _ body: (Scene, Vault) throws -> Void) throws {
            guard LoopDisk.isAvailable else {
                Issue.record("NOT TESTED: a small disk takes root and loop devices")
                return
            }
            let disk = try LoopDisk(size: "64M", options: ["-N", "\(inodes)", "-m", "0"])
            // Inside a function of its own: the vault must be removed before its disk.
            try use(TemporaryFolder(in: disk.path), body)
        }

        private func use(_ folder: TemporaryFolder, _ body: (Scene, Vault) throws -> Void) throws {
            let vault = try Vault(in: folder)
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                try scene.makeFile("kept", Self.kept)
                try body(scene, vault)
                #expect(try scene.contents("kept") == Self.kept)
            }
            let found = try vault.fsck()
            #expect(found.clean && found.complete && found.findings.isEmpty, "\(found.findings)")
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: try Probe())
                defer { scene.endProbe() }
                #expect(try scene.contents("kept") == Self.kept)
                #expect(try scene.contents("after") == Self.kept)
            }
        }

        /// Everything works again.
        private func expectRoom(_ scene: Scene) throws {
            try scene.makeFile("after", Self.kept)
            try scene.makeFolder("afterwards")
            try scene.rename("afterwards", Self.long).required("a rename")
            try scene.probe.ask("rmdir", scene.path(Self.long)).required("rmdir")
        }

        /// Fills the disk to the last block with one file.
        private func fill(_ scene: Scene) throws {
            let outcome = try attempt("cp", ["/dev/zero", scene.path("filler")])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("No space left on device"), "\(outcome)")
        }

        @Test func copies() throws {
            try withSmallDisk(inodes: 1000) { scene, _ in
                try fill(scene)
                // A copy that stopped early is as long as what was written of it, and reads as that.
                let size = try scene.probe.size(scene.path("filler"))
                #expect(size > 5 << 20)
                try run("cmp", ["-n", "\(size)", scene.path("filler"), "/dev/zero"]).succeeded()
                try scene.probe.open(0, scene.path("kept"), "rw").required()
                // The journal has reserved room for an overwrite of durable bytes.
                try scene.probe.pwrite(0, 1000, Array(Self.kept[1000..<2000])).required("an overwrite")
                try scene.probe.fsync(0).required("fsync")
                _ = try scene.probe.close(0)
                #expect(try scene.contents("kept") == Self.kept)
                try scene.probe.ask("unlink", scene.path("filler")).required("unlink on a full disk")
                try expectRoom(scene)
            }
        }

        /// A database without room reports it; committed rows are there, and it continues when there is room.
        @Test(arguments: ["delete", "wal"]) func databases(journal: String) throws {
            try withSmallDisk(inodes: 1000) { scene, _ in
                let path = scene.mount.path
                func sql(_ statements: String) throws -> Outcome {
                    try attempt("sqlite3", ["-bail", "db"], input: Array(statements.utf8), directory: path)
                }
                try sql("pragma journal_mode=\(journal); create table t(n integer primary key, v blob);").succeeded()
                // Room for it to go on with, later.
                try shell("head -c 15M /dev/zero > filler", in: path).succeeded()
                var rows = 0
                var refusal: Outcome?
                while refusal == nil, rows < 400 {
                    let outcome = try sql("insert into t(v) values(randomblob(400000));")
                    if outcome.status == 0 { rows += 1 } else { refusal = outcome }
                }
                // SQLite cannot open files that it cannot create.
                let reasons = ["full", "unable to open"]
                #expect(reasons.contains { refusal?.errors.contains($0) == true }, "\(rows), \(refusal?.errors ?? "")")
                #expect(rows > 5)
                try run("rm", [path + "/filler"]).succeeded()
                let state = "pragma integrity_check; select count(*) from t;"
                #expect(try sql(state).succeeded().text == "ok\n\(rows)\n")
                try sql("delete from t where n % 2 = 0; insert into t(v) values(randomblob(400000));").succeeded()
                #expect(try sql(state).succeeded().text == "ok\n\(rows - rows / 2 + 1)\n")
                try sql("drop table t; vacuum;").succeeded()
                try expectRoom(scene)
            }
        }

        /// First no inode is left, then no block: every call that creates something fails with ENOSPC and has created
        /// nothing.
        @Test(arguments: ["inodes", "blocks"]) func callsThatMakeSomething(lacking: String) throws {
            try withSmallDisk(inodes: lacking == "inodes" ? 200 : 20_000) { scene, _ in
                let probe = scene.probe
                try scene.makeFolder("folder")
                try scene.makeFolder("folder/sub")
                if lacking == "blocks" { try fill(scene) }
                var made = 0
                var refusal: Answer?
                while refusal == nil, made < 20_000 {
                    let path = scene.path("folder/\(made)")
                    let answer = try probe.open(0, path, "rw,creat")
                    _ = try probe.close(0)
                    if answer.succeeded { made += 1 } else { refusal = answer }
                }
                #expect(refusal == .refused("ENOSPC"), "after \(made) files")
                let before = try probe.list(scene.path("folder"))
                #expect(before.count == made + 1)
                func expectRefused(_ answer: Answer, _ call: String) {
                    // A full disk has room in what is already allocated: a folder's block, an inode.
                    #expect(answer.succeeded ? lacking == "blocks" : answer == .refused("ENOSPC"), "\(call): \(answer)")
                }
                let root = try probe.list(scene.mount.path)
                expectRefused(try probe.ask("mkdir", scene.path("made-folder"), "0755"), "mkdir")
                expectRefused(try probe.ask("mkdir", scene.path(Self.long), "0755"), "mkdir of a long name")
                expectRefused(try probe.ask("symlink", "there", scene.path("made-link")), "symlink")
                expectRefused(try probe.ask("mkfifo", scene.path("made-fifo"), "0600"), "mkfifo")
                expectRefused(
                    try probe.rename(scene.path("kept"), scene.path(Self.long + "2")), "rename to a long name")
                if try probe.exists(scene.path(Self.long + "2")) {
                    try probe.rename(scene.path(Self.long + "2"), scene.path("kept")).required("rename back")
                }
                expectRefused(
                    try probe.ask(
                        "setxattr", scene.path("kept"), "user.large", [UInt8](repeating: 65, count: 3000).hexadecimal),
                    "setxattr")
                // Refused calls have left nothing; a rename that needs no room works.
                let made2 = Set(try probe.list(scene.mount.path)).subtracting(root)
                if lacking == "inodes" { #expect(made2.isEmpty, "\(made2)") }
                try probe.rename(scene.path("folder/0"), scene.path("folder/sub/moved")).required("rename")
                #expect(try scene.contents("kept") == Self.kept)
                try run("rm", ["-rf"] + (made2.sorted() + ["folder", "filler"]).map(scene.path)).succeeded()
                try expectRoom(scene)
            }
        }
    }
}
