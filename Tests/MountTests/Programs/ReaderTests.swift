import Foundation
import TestSupport
import Testing

extension MountTests {
    /// tools/read-vault.py, written from docs/FORMAT.md alone, agrees byte for byte with what the mount shows.
    @Suite struct IndependentReader {
        private func read(_ vault: Vault, _ command: [String], opening: [String]? = nil) throws -> Outcome {
            try attempt(
                "python3",
                [Built.project + "/tools/read-vault.py", vault.path, "--device-key", vault.deviceKeyFile()]
                    + (opening ?? ["--passcode-file", vault.passcodeFile]) + command)
        }

        @Test func agreesByteForByte() throws {
            let vault = try Vault()
            let probe = try Probe()
            let long = String(repeating: "long", count: 60)
            var files: [String: [UInt8]] = [:]
            for (number, size) in [0, 1, 31, 4095, 4096, 4097, 8192, 100_000, 1_048_577].enumerated() {
                files["size-\(size)"] = [UInt8](seed: number, count: size)
            }
            files["deep/er/file"] = [UInt8](seed: 20, count: 5000)
            files["deep/\(long)"] = [UInt8](seed: 21, count: 50)
            for protection in ProtectionClass.allCases {
                files["class-\(protection)"] = [UInt8](seed: 22 + Int(protection.code), count: 9000)
            }
            files["moved"] = [UInt8](seed: 30, count: 4321)
            files["linked"] = [UInt8](seed: 31, count: 1234)
            var sparse = [UInt8](repeating: 0, count: 3_000_000)
            sparse += [1, 2, 3]
            files["sparse"] = sparse
            try withMount(vault) { mount in
                let scene = Scene(mount: mount, probe: probe)
                try scene.makeFolder("deep")
                try scene.makeFolder("deep/er")
                for (name, contents) in files where !["moved", "linked", "sparse"].contains(name) {
                    try scene.makeFile(name, contents)
                }
                for protection in ProtectionClass.allCases {
                    try scene.setClass(protection, of: "class-\(protection)")
                }
                try scene.makeFile("deep/before", files["moved"]!)
                try scene.rename("deep/before", "moved").required()
                try scene.makeFile("one", files["linked"]!)
                try probe.ask("link", scene.path("one"), scene.path("linked")).required()
                try probe.open(0, scene.path("sparse"), "rw,creat").required()
                try probe.pwrite(0, 3_000_000, [1, 2, 3]).required()
                try probe.close(0).required()
                try probe.ask("symlink", "deep/er/file", scene.path("link")).required()
            }
            for (name, contents) in files {
                let outcome = try read(vault, ["cat", "/" + name])
                try #require(outcome.status == 0, "\(name): \(outcome.errors)")
                #expect(outcome.output == contents, "\(name)")
            }
            for (name, hasSummary) in ["class-A": true, "moved": true, "sparse": true, "size-0": true, "linked": false]
            {
                let outcome = try read(vault, ["stat", "/" + name]).succeeded()
                #expect(outcome.text.contains(#""summary": \#(hasSummary)"#), "\(name): \(outcome)")
            }
            let verified = try read(vault, ["verify"])
            #expect(verified.status == 0, "\(verified)")
            let recovered = try read(
                vault, ["cat", "/class-A"], opening: ["--recovery-key-file", vault.recoveryKeyFile])
            #expect(recovered.output == files["class-A"], "\(recovered.errors)")
        }

        /// The vault is complete after a lock, and while a mount is in use after a sync.
        @Test func readsAVaultInUse() throws {
            try withScene(["--default-class", "complete"]) { scene in
                var contents = [UInt8](seed: 1, count: 50_000)
                try scene.probe.open(0, scene.path("file"), "rw,creat").required()
                try scene.probe.pwrite(0, 0, contents).required()
                try scene.probe.fsync(0).required()
                let outcome = try read(scene.mount.vault, ["cat", "/file"])
                #expect(outcome.output == contents, "\(outcome.errors)")
                // Over durable bytes, and across the end: both go into the journal first.
                contents.replaceSubrange(4000..<6000, with: [UInt8](seed: 2, count: 2000))
                try scene.probe.pwrite(0, 4000, Array(contents[4000..<6000])).required()
                contents.replaceSubrange(49_990..., with: [UInt8](seed: 3, count: 5000))
                try scene.probe.pwrite(0, 49_990, Array(contents[49_990...])).required()
                try scene.probe.fsync(0).required()
                #expect(try read(scene.mount.vault, ["cat", "/file"]).output == contents)
                try scene.mount.lockNow()
                #expect(try read(scene.mount.vault, ["cat", "/file"]).output == contents)
            }
        }

        /// Of files too large for one attribute of the backing store, and of entries that are not files.
        @Test(.enabled(if: LoopDisk.isAvailable, "needs root and loop devices")) func readsAttributes() throws {
            let disk = try LoopDisk(options: ["-O", "ea_inode"])
            let vault = try Vault(at: disk.path + "/vault")
            try withMount(vault) { mount in
                try shell(
                    """
                    touch file; mkfifo fifo; ln -s target link
                    python3 -c 'import os; os.setxattr("file", "user.large", b"v" * 65536)'
                    python3 -c 'import os; os.setxattr("file", b"user.\\xff", b"bytes")'
                    setfattr -n trusted.pipe -v 1 fifo; setfattr -h -n trusted.link -v 2 link
                    """, in: mount.path
                ).succeeded()
            }
            func agree(on path: String, _ attributes: [String: String]) throws {
                let outcome = try read(vault, ["stat", path]).succeeded()
                let facts = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
                #expect(facts?["xattrs"] as? [String: String] == attributes, "\(path)")
            }
            try agree(
                on: "/file",
                ["user.large": String(repeating: "76", count: 65_536), "user.\\xff": Array("bytes".utf8).hexadecimal])
            try agree(on: "/fifo", ["trusted.pipe": "31"])
            try agree(on: "/link", ["trusted.link": "32"])
            #expect(try read(vault, ["verify"]).status == 0)
        }

        /// Both refuse a vault that was tampered with.
        @Test func refusesWhatTheMountRefuses() throws {
            let scene = try AttackScene()
            try scene.file("first").swapBlocks(0, 1)
            #expect(try read(scene.vault, ["cat", "/first"]).status != 0)
            #expect(try read(scene.vault, ["cat", "/second"]).output == AttackScene.second)
            #expect(try read(scene.vault, ["verify"]).status != 0)
        }
    }
}
