import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Bad input gets a clear error and the right exit status; nothing is lost, and nothing crashes.
    @Suite struct BadInput {
        /// The command fails with this status and explains it on standard error alone, in readable lines.
        private func expectRefusal(
            _ outcome: Outcome, _ status: Int32, mentioning word: String? = nil,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(outcome.status == status, "\(outcome)", sourceLocation: sourceLocation)
            #expect(outcome.errors.count > 20, "\(outcome)", sourceLocation: sourceLocation)
            #expect(!outcome.errors.contains("Fatal error"), "\(outcome)", sourceLocation: sourceLocation)
            if let word {
                #expect(outcome.errors.contains(word), "\(outcome)", sourceLocation: sourceLocation)
            }
        }

        @Test func notAVault() throws {
            let vault = try Vault()
            let empty = try vault.folder.makeFolder("empty")
            let mountPoint = try vault.folder.makeFolder("m")
            expectRefusal(try vault.latchkey(["mount", empty, mountPoint]), 5, mentioning: empty)
            expectRefusal(try vault.latchkey(["mount", vault.folder.path("absent"), mountPoint]), 5)
            expectRefusal(try vault.latchkey(["mount", vault.passcodeFile, mountPoint]), 5)
            expectRefusal(try vault.latchkey(["status", empty]), 5)
            expectRefusal(try vault.latchkey(["lock", empty]), 5)
            expectRefusal(try vault.latchkey(["unlock", empty, "--passcode-file", vault.passcodeFile]), 5)
            expectRefusal(try vault.latchkey(["unmount", empty]), 5)
            expectRefusal(try vault.latchkey(["lock", vault.path]), 5)
        }

        @Test(arguments: [0, 1, 8, 51, 52, 100, 200, -1])
        func aTruncatedKeybag(_ size: Int) throws {
            let vault = try Vault()
            try Disk.edit(vault.keybag) { $0 = Array(size < 0 ? $0.dropLast() : $0.prefix(size)) }
            let outcome = try vault.latchkey(["mount", vault.path, try vault.folder.makeFolder("m")])
            expectRefusal(outcome, 6)
        }

        @Test func aKeybagWithMoreBehindIt() throws {
            let vault = try Vault()
            try Disk.edit(vault.keybag) { $0 += [0] }
            expectRefusal(try vault.latchkey(["mount", vault.path, try vault.folder.makeFolder("m")]), 6)
        }

        @Test func aForeignVersion() throws {
            let vault = try Vault()
            try Disk.edit(vault.keybag) { $0[8] = 9 }
            let outcome = try vault.latchkey(["mount", vault.path, try vault.folder.makeFolder("m")])
            #expect(outcome.status != 0)
            #expect(outcome.errors.contains("9"), "which version it is: \(outcome)")
        }

        @Test func aMissingKeybagAndItsPredecessor() throws {
            let vault = try Vault()
            try shell("mv lk.keybag lk.keybag.old", in: vault.path).succeeded()
            try withMount(vault) { _ in }
            #expect(Disk.exists(vault.keybag), "the previous one is put back")
        }

        @Test func theMountPoint() throws {
            let vault = try Vault()
            let full = try vault.folder.makeFolder("full")
            _ = try vault.folder.write("here", to: "full/file")
            expectRefusal(try vault.latchkey(["mount", vault.path, full]), 1, mentioning: "empty")
            expectRefusal(try vault.latchkey(["mount", vault.path, vault.folder.path("absent")]), 1)
            expectRefusal(try vault.latchkey(["mount", vault.path, vault.passcodeFile]), 1)
            expectRefusal(try vault.latchkey(["mount", vault.path, vault.path]), 1)
            #expect(try Disk.read(full + "/file") == Array("here".utf8))
        }

        /// `mount DIR VAULT`: the advice works as it is written.
        @Test func swappedArguments() throws {
            let vault = try Vault()
            let point = try vault.folder.makeFolder("m")
            let swapped = try vault.latchkey(["mount", point, vault.path])
            let words = "seem swapped: \(point) is an empty folder, and \(vault.path) is a vault"
            expectRefusal(swapped, 5, mentioning: words)
            let advice = try #require(swapped.errors.split(separator: "\n").last { $0.hasPrefix("  try: latchkey ") })
            let command = advice.dropFirst("  try: latchkey ".count).split(separator: " ").map(String.init)
            #expect(command == ["mount", vault.path, point])
            try vault.latchkey(command).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            // Two vaults are not swapped, nor is a folder that has lost its keybag.
            let other = try Vault()
            #expect(try !vault.latchkey(["mount", other.path, vault.path]).errors.contains("swapped"))
            try shell("rm lk.keybag", in: other.path)
            #expect(try !vault.latchkey(["mount", other.path, vault.path]).errors.contains("swapped"))
        }

        @Test func mountedTwice() throws {
            let vault = try Vault()
            let other = try vault.folder.makeFolder("other")
            try withMount(vault) { mount in
                let probe = try Probe()
                try probe.write(mount.file("file"), [1, 2, 3])
                expectRefusal(try vault.latchkey(["mount", vault.path, other]), 1, mentioning: "mounted")
                #expect(mountLines(of: other).isEmpty)
                #expect(try probe.contents(mount.file("file")) == [1, 2, 3])
                #expect(try mount.status().state == "unlocked")
            }
            try withMount(vault) { _ in }
        }

        /// Also if no control socket names the other process: the lock in the vault decides.
        @Test func theVaultOfAnotherProcess() throws {
            let vault = try Vault()
            let script = """
                import fcntl, sys
                lock = open(sys.argv[1], "a")
                for line in sys.stdin:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB if line.startswith("take") else fcntl.LOCK_UN)
                    print("ok", flush=True)
                """
            let other = try Probe(
                "/usr/bin/env", ["python3", "-u", "-c", script, vault.path + "/lk.lock"],
                environment: Environment.plain)
            try other.ask("take").required("the vault's lock")
            let point = try vault.folder.makeFolder("point")
            for command in [
                ["mount", vault.path, point],
                ["slot", "remove", "--passcode-file", vault.passcodeFile, "2", vault.path],
            ] {
                #expect(try vault.latchkey(command).status == 1, "\(command)")
            }
            #expect(mountLines(of: point).isEmpty)
            try other.ask("leave").required("the end of that")
            try withMount(vault) { _ in }
        }

        @Test(arguments: [0, 1025, 10_000])
        func aPasscodeOfBytes(_ count: Int) throws {
            let vault = try Vault()
            let odd = try vault.folder.write(String(repeating: "p", count: count), to: "odd")
            let new = vault.folder.path("new")
            let outcome = try vault.latchkey(
                ["init", new, "--passcode-file", odd, "--kdf-memory", "19", "--kdf-passes", "2"]
                    + ["--recovery-key-file", vault.folder.path("r")])
            #expect(outcome.status == 1 || outcome.status == 2, "\(outcome)")
            expectRefusal(outcome, outcome.status)
            #expect(!Disk.exists(new + "/lk.keybag"), "no vault is made")
            #expect(!outcome.errors.contains("ppppp"), "the passcode is not repeated")
            try withMount(vault, unlocked: false) { mount in
                let outcome = try mount.latchkey("unlock", mount.path, "--passcode-file", odd)
                #expect([1, 2, 3].contains(outcome.status), "\(outcome)")
                #expect(outcome.errors.count > 20)
                #expect(try mount.status().state == "before-first-unlock")
            }
        }

        /// From standard input and from a descriptor, too.
        @Test func passcodesByOtherWays() throws {
            try withScene(unlocked: false) { scene in
                let vault = scene.mount.vault
                try vault.latchkey(["unlock", scene.mount.path], input: Array((Vault.passcode + "\n").utf8)).succeeded()
                try scene.mount.lockNow()
                try vault.latchkey(
                    ["unlock", scene.mount.path, "--passcode-fd", "0"], input: Array(Vault.passcode.utf8)
                ).succeeded()
                #expect(try scene.mount.status().state == "unlocked")
                let argument = try vault.latchkey(["unlock", scene.mount.path, "--passcode", Vault.passcode])
                #expect(argument.status == 2, "never from an argument")
            }
        }

        @Test func anUnknownClassName() throws {
            try withScene { scene in
                try scene.makeFile("file")
                let path = scene.path("file")
                expectRefusal(try scene.mount.latchkey("class", "set", "secret", path), 2, mentioning: "complete")
                expectRefusal(try scene.mount.latchkey("class", "set", "", path), 2)
                let vault = scene.mount.vault
                expectRefusal(
                    try vault.latchkey(
                        ["init", vault.folder.path("new"), "--default-class", "secret"]
                            + ["--passcode-file", vault.passcodeFile, "--recovery-key-file", vault.folder.path("r")]), 2
                )
                #expect(!Disk.exists(vault.folder.path("new/lk.keybag")))
                #expect(try scene.classOf("file") == .completeUntilFirstUserAuthentication)
            }
        }

        @Test func usage() throws {
            let vault = try Vault()
            for arguments in [
                ["frobnicate"], ["mount"], ["lock", "--all", vault.path], ["mount", vault.path],
                ["lock", "--never", vault.path],
                ["--verbose"], ["status", "--verbose"],
            ] {
                #expect(try vault.latchkey(arguments).status == 2, "\(arguments)")
            }
            for arguments in [["--help"], ["mount", "--help"], ["--version"], ["--version", "--verbose"]] {
                let outcome = try vault.latchkey(arguments)
                #expect(outcome.status == 0)
                #expect(!outcome.text.isEmpty)
            }
            #expect(try vault.latchkey(["--version", "--verbose"]).text.contains("Apache-2.0"))
        }

        @Test func initOverSomethingElse() throws {
            let vault = try Vault()
            let before = try Disk.read(vault.keybag)
            let options = ["--passcode-file", vault.passcodeFile, "--recovery-key-file", vault.folder.path("r")]
            expectRefusal(try vault.latchkey(["init", vault.path] + options), 1)
            #expect(try Disk.read(vault.keybag) == before)
            let full = try vault.folder.makeFolder("full")
            _ = try vault.folder.write("here", to: "full/file")
            expectRefusal(try vault.latchkey(["init", full] + options), 1)
            #expect(!Disk.exists(full + "/lk.keybag"))
        }

        /// A locked vault is distinguished: exit 4.
        @Test func lockedIsExitFour() throws {
            try withScene(["--default-class", "complete"]) { scene in
                try scene.makeFile("file")
                try scene.mount.lockNow()
                let outcome = try scene.mount.latchkey("class", "set", "none", scene.path("file"))
                expectRefusal(outcome, 4, mentioning: "unlock")
                #expect(try scene.classOf("file") == .complete)
            }
        }
    }
}
