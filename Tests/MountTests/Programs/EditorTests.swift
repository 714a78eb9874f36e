import TestSupport
import Testing

extension MountTests {
    /// How editors save.
    @Suite struct Editors {
        /// vim with its default settings, and with each way of making its backup while it writes.
        @Test(arguments: ["auto", "yes", "no"], [false, true])
        func vim(_ way: String, _ isExplicit: Bool) throws {
            guard try attempt("sh", ["-c", "command -v vim"]).status == 0 else {
                Issue.record("vim is not installed: install it to have its saves tested (the simulated ones are)")
                return
            }
            try withScene { scene in
                try scene.makeFolder("folder", class: .complete)
                try scene.makeFile("folder/text", class: isExplicit ? .complete : nil, Array("one\ntwo\n".utf8))
                for turn in 1...3 {
                    try run(
                        "vim",
                        [
                            "-es", "-u", "NONE", "-i", "NONE", "-c", "set backupcopy=\(way)", "-c",
                            "normal Goline \(turn)",
                        ]
                            + ["-c", "wq", "text"], directory: scene.path("folder")
                    ).succeeded()
                }
                #expect(try scene.contents("folder/text") == Array("one\ntwo\nline 1\nline 2\nline 3\n".utf8))
                #expect(try scene.classOf("folder/text") == .complete)
                #expect(try scene.probe.list(scene.path("folder")) == ["text"], "no backup or swap file is left")
            }
        }

        /// The save that replaces: write beside, sync, rename over (most editors, and Foundation's atomic write).
        @Test func writeBesideAndRename() throws {
            try withScene { scene in
                try scene.makeFile("text", class: .complete, Array("0".utf8))
                for turn in 1...20 {
                    try scene.probe.write(scene.path(".text.tmp"), Array("\(turn)".utf8))
                    try scene.rename(".text.tmp", "text").required("turn \(turn)")
                }
                #expect(try scene.contents("text") == Array("20".utf8))
                #expect(try scene.classOf("text") == .complete)
                #expect(try scene.isExplicit("text"))
            }
        }

        /// The save that keeps a backup: rename the old away, write anew, sync, remove the backup.
        @Test func backupAndWriteAnew() throws {
            try withScene { scene in
                try scene.makeFolder("folder", class: .complete)
                try scene.makeFile("folder/text", Array("0".utf8))
                for turn in 1...20 {
                    try scene.rename("folder/text", "folder/text~").required()
                    try scene.probe.write(scene.path("folder/text"), Array("\(turn)".utf8))
                    try scene.probe.ask("unlink", scene.path("folder/text~")).required()
                }
                #expect(try scene.contents("folder/text") == Array("20".utf8))
                #expect(try scene.classOf("folder/text") == .complete)
            }
        }

        /// The save in place, and the one through sed -i.
        @Test func inPlace() throws {
            try withScene { scene in
                try scene.makeFile("text", class: .complete, Array("one\n".utf8))
                try shell("sed -i s/one/two/ text; cat text >> copy; printf 'three\\n' > text", in: scene.mount.path)
                    .succeeded()
                #expect(try scene.contents("text") == Array("three\n".utf8))
                #expect(try scene.classOf("text") == .complete)
            }
        }

        /// A save that begins before the lock and ends after it loses neither the old nor the new text.
        @Test func aSaveAcrossALock() throws {
            try withScene { scene in
                try scene.makeFile("text", class: .complete, Array("old".utf8))
                try scene.probe.open(0, scene.path("text.tmp"), "rw,creat").required()
                try scene.probe.pwrite(0, 0, Array("new".utf8)).required()
                try scene.mount.lockNow()
                #expect(try scene.probe.fsync(0) == .ok())
                #expect(try scene.probe.close(0) == .ok())
                #expect(try scene.rename("text.tmp", "text") == .noKey)
                try scene.mount.unlock()
                #expect(try scene.contents("text") == Array("old".utf8))
                #expect(try scene.rename("text.tmp", "text") == .ok())
                #expect(try scene.contents("text") == Array("new".utf8))
                #expect(try scene.classOf("text") == .complete)
            }
        }
    }
}
