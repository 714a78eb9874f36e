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

        /// A folder in it is not it, through the mount or beside that.
        @Test func aFolderInItIsNotErased() throws {
            let keybag = try Data(contentsOf: URL(filePath: vault.keybag))
            let inside = vault.path + "/" + Disk.tree(vault.path).first { !$0.hasPrefix("lk.") }!
            try withMount(vault) { mount in
                for path in [mount.path + "/d", mount.path + "/b", inside] {
                    let outcome = try vault.latchkey(["erase", "--yes", "--files", path])
                    #expect(outcome.status == 1 && outcome.errors.contains("lies in one"), "\(outcome)")
                }
                let text = try shell("cat b", in: mount.path).text
                #expect(text == "secret\n")
            }
            #expect(try vault.latchkey(["erase", "--yes", "--files", inside]).status == 1)
            #expect(try Data(contentsOf: URL(filePath: vault.keybag)) == keybag && Disk.exists(deviceKey))
        }

        /// What `--device-key` names has to be this vault's.
        @Test func noFileButTheDeviceKey() throws {
            let other = try Vault()
            let letter = try vault.folder.write("a letter", to: "letter")
            for (path, words) in [(letter, "not a device key"), (try other.deviceKeyFile(), "another vault")] {
                let before = try Data(contentsOf: URL(filePath: path))
                let outcome = try vault.latchkey(["erase", "--yes", "--device-key", path, vault.path])
                #expect(outcome.status == 1 && outcome.errors.contains(words), "\(outcome)")
                #expect(try Data(contentsOf: URL(filePath: path)) == before && Disk.exists(vault.keybag))
            }
            // Nor a count beside the folder in which somebody stands, where the keybag does not tell whose it is.
            _ = try vault.folder.write("mine", to: ".tries")
            try Data([1, 2, 3]).write(to: URL(filePath: vault.keybag))
            let command = "cd '\(vault.folder.path(""))' && '\(Built.latchkey)' erase --yes vault"
            let outcome = try shell(command, in: "/").succeeded()
            #expect(outcome.text.contains("nobody knows") && Disk.exists(vault.folder.path(".tries")), "\(outcome)")
        }

        /// A link leads to it; a killed program has left it under another name; it is nowhere.
        @Test func whereTheDeviceKeyLies() throws {
            let stick = vault.folder.path("stick.key")
            let name = deviceKey.split(separator: "/").last!
            let left = deviceKey.dropLast(name.count) + ".\(name).new"
            try shell(
                "cp '\(deviceKey)' '\(stick)'; mv '\(deviceKey)' '\(left)'; ln -s '\(stick)' '\(deviceKey)'", in: "/"
            )
            .succeeded()
            try shell("cp '\(stick)' '\(vault.folder.path(""))/.stick.key.new'", in: "/").succeeded()
            let gone = try vault.latchkey(["erase", "--yes", vault.path]).succeeded().text
            #expect(gone.contains("nothing opens it"))
            #expect(!Disk.exists(stick) && !Disk.exists(vault.folder.path(".stick.key.new")))
            try run("cp", [copy, vault.keybag]).succeeded()
            let again = try vault.latchkey(["erase", "--yes", vault.path]).succeeded().text
            #expect(
                again.contains("device key is not at \(deviceKey)") && !again.contains("nothing opens it"), "\(again)")
        }

        /// A program that is stopped while it tries a passcode keeps nobody from erasing, nor from another way in.
        @Test func besideAStoppedGuess() throws {
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let holder = try Dialogue("bash", [])
            _ = try holder.say("exec 9<> '\(deviceKey).tries'; flock 9", mark: ("echo .", "."))
            let environment = ["XDG_STATE_HOME", "XDG_RUNTIME_DIR"]
                .map { "export \($0)='\(vault.environment[$0] ?? "")'; " }.joined()
            let waiting = "'\(Built.latchkey)' unlock --passcode-file '\(vault.passcodeFile)' '\(mount.path)'"
            try shell(environment + waiting + " > /dev/null 2>&1 &", in: "/").succeeded()
            try vault.latchkey(
                ["slot", "test", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, vault.path + "/lk.keybag"]
            ).succeeded()
            try vault.latchkey(["erase", "--yes", mount.path], within: 20).succeeded()
            mount.daemon.wait()
            #expect(!Disk.exists(deviceKey) && !Disk.exists(vault.keybag))
        }

        /// What could not be destroyed is said, and the keys in memory go all the same.
        @Test func notAllCanBeDestroyed() throws {
            let mount = try MountedVault(vault)
            defer {
                mount.detach()
                _ = try? shell("chattr -i '\(vault.keybag)'", in: "/")
            }
            guard try shell("chattr +i '\(vault.keybag)'", in: "/").status == 0 else { return }
            let outcome = try vault.latchkey(["erase", "--yes", mount.path])
            #expect(outcome.status == 1 && outcome.errors.contains("not all of the keys"), "\(outcome)")
            mount.daemon.wait()
            try shell("chattr -i '\(vault.keybag)'", in: "/").succeeded()
            #expect(!Disk.exists(deviceKey))
        }

        /// A device key that has gone elsewhere under a mount.
        @Test func theDeviceKeyOfAMountIsElsewhere() throws {
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            try shell("mv '\(deviceKey)' '\(deviceKey).moved'", in: "/").succeeded()
            let outcome = try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
            #expect(outcome.text.contains("not where it was") && !outcome.text.contains("nothing opens"), "\(outcome)")
            mount.daemon.wait()
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
            #expect(!Disk.exists(vault.keybag) && !Disk.exists(deviceKey))
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

        private func guessing(_ commands: [[String]]) throws -> Outcome? {
            var last: Outcome?
            for (number, command) in commands.enumerated() {
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                last = try vault.latchkey(command.map { $0 == "GUESS" ? file : $0 })
            }
            return last
        }

        /// What cannot be removed is said, no keys are left in memory, and no passcode is tried any more.
        @Test func afterWrongPasscodesWhereNothingCanBeRemoved() throws {
            let vault = try Vault(["--erase-after", "4"])
            let deviceKey = try vault.deviceKeyFile()
            let fixed = [vault.keybag, deviceKey].map { "'\($0)'" }.joined(separator: " ")
            let mount = try MountedVault(vault)
            defer {
                mount.detach()
                _ = try? shell("chattr -i \(fixed)", in: "/")
            }
            guard try shell("chattr +i \(fixed)", in: "/").status == 0 else { return }
            var last: Outcome?
            for number in 1...4 {
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                last = try vault.latchkey(["unlock", "--passcode-file", file, mount.path])
            }
            #expect(last?.errors.contains("not all could be destroyed") == true, "\(String(describing: last))")
            mount.daemon.wait()
            let test = ["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]
            let after = try vault.latchkey(test)
            #expect(after.status == 3 && after.errors.contains("is erased"), "\(after)")
        }

        /// By a command that opens the keybag beside the daemon: the mount goes, too.
        @Test func afterWrongPasscodesBesideTheMount() throws {
            let vault = try Vault(["--erase-after", "4"])
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            for number in 1...4 {
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                let output = vault.folder.path("b\(number)")
                let outcome = try vault.latchkey(["keybag", "backup", "--passcode-file", file, output, mount.path])
                #expect(outcome.status == 3 && outcome.errors.contains("is erased") == (number == 4), "\(outcome)")
            }
            mount.daemon.wait()
        }

        /// By a copy that shares the device key: the mount of the original opens no more, and its keybag, which the recovery
        /// key opens, stays.
        @Test func afterWrongPasscodesAtACopy() throws {
            let vault = try Vault(["--erase-after", "4"])
            let copy = vault.folder.path("copy")
            try withMount(vault) { try shell("echo secret > a", in: $0.path).succeeded() }
            try run("cp", ["-a", vault.path, copy]).succeeded()
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            try vault.latchkey(["lock", "--now", mount.path]).succeeded()
            for number in 1...4 {
                let file = try vault.folder.write("wrong \(number)", to: "guess")
                #expect(try vault.latchkey(["slot", "test", "--passcode-file", file, copy]).status == 3)
            }
            let outcome = try vault.latchkey(["unlock", "--passcode-file", vault.passcodeFile, mount.path])
            #expect(outcome.status == 3 && outcome.errors.contains("is erased"), "\(outcome)")
            mount.daemon.wait()
            try withMount(
                vault, unlocked: false,
                options: [
                    "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", vault.passcodeFile,
                ]
            ) { mount in
                let text = try shell("cat a", in: mount.path).text
                #expect(text == "secret\n")
            }
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

        /// Whatever lies where the count would: the vault opens.
        @Test(arguments: ["mkdir", "mkfifo", "ln -s /nowhere", "touch x; chattr +i"]) func whereNothingCanBeCounted(
            making: String
        ) throws {
            let count = deviceKey + ".tries"
            let make = making.hasPrefix("touch") ? "touch '\(count)'; chattr +i" : making
            defer { _ = try? shell("chattr -i '\(count)'", in: "/") }
            try shell("rm -f '\(count)'; \(make) '\(count)'", in: "/").succeeded()
            try vault.latchkey(["slot", "test", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
            let guess = try vault.folder.write("wrong", to: "guess")
            #expect(try vault.latchkey(["slot", "test", "--passcode-file", guess, vault.path]).status == 3)
        }

        /// A device key whose name leaves no room for that of its count, and one in the vault itself.
        @Test func whereNoDeviceKeyBelongs() throws {
            let path = vault.folder.path("made")
            let names = [
                (vault.folder.path(String(repeating: "n", count: 251)), "name too long"),
                (path + "/k", "lies in the vault"),
            ]
            for (key, words) in names {
                let outcome = try vault.latchkey([
                    "init", path, "--kdf-memory", "19", "--kdf-passes", "2", "--passcode-file", vault.passcodeFile,
                    "--recovery-key-file", path + ".key", "--device-key", key,
                ])
                #expect(outcome.status == 1 && outcome.errors.lowercased().contains(words), "\(outcome)")
                #expect(!Disk.exists(path) && !Disk.exists(key))
            }
            let export = try vault.latchkey(["device-key", "export", vault.path + "/k", vault.path])
            #expect(export.status == 1 && export.errors.contains("lies in the vault"), "\(export)")
        }
    }
}
