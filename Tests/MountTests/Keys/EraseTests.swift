import Foundation
import Glibc
import Testing

extension MountTests {
    /// A vault that nobody opens any more.
    @Suite struct Erasing {
        private let vault: Vault
        private let deviceKey: String
        private let copy: String

        init() throws {
            vault = try Vault(["--default-class", "complete"])
            try withMount(vault) { try shell("mkdir d; seq 5000 > d/a; echo secret > b", in: $0.path).succeeded() }
            deviceKey = try vault.deviceKeyFile()
            copy = vault.folder.path("copy-of-the-keybag")
            try run("cp", [vault.keybag, copy]).succeeded()
        }

        /// Passcode and a copy of the keybag open nothing; with the recovery key it opens, which is why it says so.
        private func expectErased() throws {
            #expect(!Disk.exists(deviceKey) && !Disk.exists(deviceKey + ".tries") && !Disk.exists(vault.keybag))
            let point = try vault.folder.makeFolder("m\(UUID())")
            #expect(try vault.latchkey(["mount", vault.path, point]).status == 5)
            try run("cp", [copy, vault.keybag]).succeeded()
            let outcome = try vault.latchkey(
                ["mount", "--unlock", "--passcode-file", vault.passcodeFile, vault.path, point])
            #expect(outcome.status == 1 && outcome.errors.contains("device key"), "\(outcome)")
            try withMount(
                vault, unlocked: false,
                options: [
                    "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", vault.passcodeFile,
                ]
            ) { mount in
                let text = try shell("cat b", in: mount.path).text
                #expect(text == "secret\n")
            }
        }

        @Test func whenItIsNotMounted() throws {
            let asked = try vault.latchkey(["erase", vault.path])
            #expect(asked.status == 2 && asked.errors.contains("--yes"), "\(asked)")
            #expect(Disk.exists(deviceKey) && Disk.exists(vault.keybag))
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            try expectErased()
        }

        /// With files open: they are gone for those who have them, and no key is in memory, for there is no process.
        @Test func whenItIsMounted() throws {
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let holder = try Dialogue("bash", [])
            _ = try holder.say("exec 3< \(mount.file("b"))", mark: ("echo .", "."))
            try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
            let read = try holder.say("cat <&3; echo $?", mark: ("echo .", "."))
            #expect(!read.contains("secret"), "\(read)")
            mount.daemon.wait()
            try expectErased()
        }

        @Test func withItsFiles() throws {
            try vault.latchkey(["erase", "--yes", "--files", vault.path]).succeeded()
            #expect(Disk.tree(vault.path).isEmpty)
            #expect(!Disk.exists(deviceKey))
        }

        /// A vault that is damaged already, and one whose device key is elsewhere.
        @Test func whatIsMissingIsNoHindrance() throws {
            try FileManager.default.removeItem(atPath: deviceKey)
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            #expect(!Disk.exists(vault.keybag))
        }

        // MARK: --erase-after

        /// The last wrong passcode through a mount that is unlocked: no key is left on the disk or in memory.
        @Test func afterWrongPasscodes() throws {
            let vault = try Vault(["--erase-after", "4"])
            let deviceKey = try vault.deviceKeyFile()
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            try shell("echo secret > b", in: mount.path).succeeded()
            for number in 1...4 {
                #expect(Disk.exists(vault.keybag))
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                let outcome = try vault.latchkey(["unlock", "--passcode-file", file, mount.path])
                #expect(outcome.status == 3 && outcome.errors.contains("is erased") == (number == 4), "\(outcome)")
            }
            mount.daemon.wait()
            #expect(!Disk.exists(vault.keybag) && !Disk.exists(deviceKey) && !Disk.exists(deviceKey + ".tries"))
        }

        /// The same without a mount, by whichever command takes a passcode.
        @Test func afterWrongPasscodesElsewhere() throws {
            let vault = try Vault(["--erase-after", "4"])
            let file = vault.folder.path("guess")
            let point = try vault.folder.makeFolder("point")
            let commands = [
                ["slot", "test", "--passcode-file", file, vault.path],
                ["passwd", "--passcode-file", file, "--new-passcode-file", vault.passcodeFile, vault.path],
                ["fsck", "--passcode-file", file, vault.path],
                ["mount", "--unlock", "--passcode-file", file, vault.path, point],
            ]
            for (number, command) in commands.enumerated() {
                _ = try vault.folder.write("wrong \(number)", to: "guess")
                let outcome = try vault.latchkey(command)
                #expect(outcome.status == 3 && outcome.errors.contains("erased") == (number == 3), "\(outcome)")
            }
            #expect(!Disk.exists(vault.keybag))
        }

        // MARK: Counting

        /// Several at once wait for each other: each is counted.
        @Test func fourGuessesAtOnce() throws {
            let guesses = try (1...4).map { try vault.folder.write("wrong \($0)", to: "guess\($0)") }
            try withMount(vault, unlocked: false) { mount in
                let command = guesses.map { "'\(Built.latchkey)' slot test --passcode-file \($0) \(mount.path) & " }
                    .joined()
                let environment = ["XDG_STATE_HOME", "XDG_RUNTIME_DIR"]
                    .map { "export \($0)='\(vault.environment[$0] ?? "")'; " }.joined()
                try shell(environment + command + "wait", in: vault.folder.path("")).succeeded()
            }
            let record = try Data(contentsOf: URL(filePath: deviceKey + ".tries"))
            #expect(record.count == 40 && record[24] == 4)
            let fifth = try vault.latchkey(["slot", "test", "--passcode-file", guesses[0] + "0", vault.path])
            #expect(fifth.status == 1, "no such file: \(fifth)")
            _ = try vault.folder.write("wrong 5", to: "guess5")
            let path = vault.folder.path("guess5")
            #expect(try vault.latchkey(["slot", "test", "--passcode-file", path, vault.path]).status == 3)
            let sixth = try vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile, vault.path])
            #expect(sixth.status == 3 && sixth.errors.contains("too many wrong passcodes"), "\(sixth)")
            try withMount(
                vault, unlocked: false,
                options: ["--recovery", "--recovery-key-file", vault.recoveryKeyFile]
                    + ["--passcode-file", vault.passcodeFile]
            ) { mount in
                let text = try shell("cat b", in: mount.path).text
                #expect(text == "secret\n")
            }
        }

        /// The count is kept, and opening goes on, where the device key's disk is full.
        @Test(.enabled(if: LoopDisk.isAvailable)) func onAFullDisk() throws {
            let disk = try LoopDisk(size: "16M")
            let key = disk.path + "/device.key"
            let vault = try Vault(["--device-key", key])
            _ = try? shell("head -c 100M /dev/zero > \(disk.path)/full", in: "/")
            let guess = try vault.folder.write("wrong", to: "guess")
            let options = ["--device-key", key, vault.path]
            #expect(try vault.latchkey(["slot", "test", "--passcode-file", guess] + options).status == 3)
            #expect(try Data(contentsOf: URL(filePath: key + ".tries"))[24] == 1)
            try vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile] + options).succeeded()
            #expect(try Data(contentsOf: URL(filePath: key + ".tries"))[24] == 0)
        }
    }
}
