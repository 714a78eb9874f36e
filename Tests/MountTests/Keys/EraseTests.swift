import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A vault after `latchkey erase`: no way in opens it any more.
    @Suite struct Erasing {
        let vault: Vault
        let deviceKey: String
        let copy: String

        init() throws {
            vault = try Vault(["--default-class", "complete"])
            try withMount(vault) { try shell("mkdir d; seq 5000 > d/a; echo secret > b", in: $0.path).succeeded() }
            deviceKey = try vault.deviceKeyFile()
            copy = vault.folder.path("copy-of-the-keybag")
            try run("cp", [vault.keybag, copy]).succeeded()
        }

        /// A passcode and a copy of the keybag open nothing; a recovery key with a copy does, and the command says so.
        func expectErased() throws {
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

        /// At once: no other machine is waited for, and no odd file in the way stops it.
        @Test(arguments: [
            "a claim", "the last claim", "mkdir lk.claims; mkfifo lk.claims/lk.claim.0000000000000005",
            "ln -s . lk.claims",
        ])
        func whateverTheClaimsAre(script: String) throws {
            if script.hasSuffix("claim") {
                try vault.plantClaim(epoch: script == "a claim" ? 9 : 1 << 62)
            } else {
                try shell("rm -r lk.claims; \(script)", in: vault.path).succeeded()
            }
            let outcome = try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            #expect(!outcome.errors.contains("Waiting"), "\(outcome)")
            #expect(!Disk.exists(deviceKey) && !Disk.exists(vault.keybag))
        }

        /// The user knows that the other machine has ended.
        @Test func aRecoveryTakesOver() throws {
            try vault.plantClaim()
            let point = try vault.folder.makeFolder("point")
            let recovered = try vault.latchkey([
                "mount", "--take-over", "--recovery", "--recovery-key-file", vault.recoveryKeyFile,
                "--passcode-file", vault.passcodeFile, vault.path, point,
            ]).succeeded()
            #expect(!recovered.errors.contains("Waiting"), "\(recovered)")
            try vault.latchkey(["unmount", point]).succeeded()
        }

        @Test func whenItIsNotMounted() throws {
            let asked = try vault.latchkey(["erase", vault.path])
            #expect(asked.status == 2 && asked.errors.contains("--yes"), "\(asked)")
            #expect(Disk.exists(deviceKey) && Disk.exists(vault.keybag))
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            try expectErased()
        }

        /// Nested folders of any depth are erased, under any limit of open files.
        @Test func itsFilesGoFromADeepTree() throws {
            defer { _ = try? run("rm", ["-rf", vault.path]) }
            try run(
                "python3",
                [
                    "-c",
                    """
                    import os, sys
                    os.chdir(sys.argv[1])
                    for level in range(5000):
                        os.mkdir("folder"); os.mkdir("beside"); os.symlink("/", "link")
                        open("file", "w").close(); os.mkfifo("beside/fifo")
                        if level % 100 == 99: os.chmod("beside", 0o500)
                        os.chdir("folder")
                    """, vault.path,
                ]
            ).succeeded()
            let command = [Built.latchkey, "erase", "--yes", "--files", vault.path]
            let outcome = try run("prlimit", ["--nofile=64:64"] + command, environment: vault.environment).succeeded()
            #expect(outcome.text.contains("Its files are removed."), "\(outcome)")
            #expect(try shell("ls -A", in: vault.path).text == "")
        }

        /// With files open: their users lose them, and no key is in memory, since the daemon has ended.
        @Test func whenItIsMounted() throws {
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let holder = try Dialogue("bash", [])
            _ = try holder.say("exec 3< \(mount.file("b"))", mark: ("echo .", "."))
            try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
            let read = try holder.say("cat <&3; echo $?", mark: ("echo .", "."))
            #expect(!read.contains("secret"), "\(read)")
            #expect(mount.daemon.wait(seconds: 20) == 1, "\(mount.messages)")
            #expect(mountLines(of: mount.path).isEmpty)
            try expectErased()
        }

        /// While programs read and write: the daemon exits by itself, without a signal, and no mount or socket stays.
        @Test func whenItIsBusy() throws {
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let socket = try mount.socket()
            let streams = try StreamFile()
            let script = """
                cd "$0"; for turn in {1..5000}; do cat b > copy$1 && cat copy$1 && rm copy$1 || exit; done
                """
            let busy = try (1...4).map { number in
                try Child(
                    "/bin/bash", ["-c", script, mount.path, "\(number)"], environment: vault.environment,
                    input: streams.descriptor, output: streams.descriptor, errors: streams.descriptor)
            }
            defer { for one in busy { one.send(SIGKILL) } }
            let end = ContinuousClock.now + .seconds(20)
            while try shell("ls", in: mount.path).text.contains("copy") == false, ContinuousClock.now < end {}
            try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
            #expect(mount.daemon.wait(seconds: 20) == 1, "\(mount.messages)")
            #expect(mount.messages.contains("the vault is erased"))
            #expect(mountLines(of: mount.path).isEmpty)
            #expect(!Disk.exists(socket))
            try expectErased()
        }

        @Test func withItsFiles() throws {
            try vault.latchkey(["erase", "--yes", "--files", vault.path]).succeeded()
            #expect(Disk.tree(vault.path).isEmpty)
            #expect(!Disk.exists(deviceKey))
        }

        /// A vault that is already damaged, and one whose device key is elsewhere.
        @Test func whatIsMissingIsNoHindrance() throws {
            try FileManager.default.removeItem(atPath: deviceKey)
            try vault.latchkey(["erase", "--yes", vault.path]).succeeded()
            #expect(!Disk.exists(vault.keybag))
        }

        /// A folder inside the vault is not the vault, through the mount or beside it.
        @Test func aFolderInItIsNotErased() throws {
            let keybag = try Data(contentsOf: URL(filePath: vault.keybag))
            let inside = vault.path + "/" + Disk.tree(vault.path).first { !$0.hasPrefix("lk.") }!
            try withMount(vault) { mount in
                for path in [mount.path + "/d", mount.path + "/b", inside] {
                    let outcome = try vault.latchkey(["erase", "--yes", "--files", path])
                    #expect(outcome.status == 1 && outcome.errors.contains("is a part of a vault"), "\(outcome)")
                }
                let text = try shell("cat b", in: mount.path).text
                #expect(text == "secret\n")
            }
            #expect(try vault.latchkey(["erase", "--yes", "--files", inside]).status == 1)
            #expect(try Data(contentsOf: URL(filePath: vault.keybag)) == keybag && Disk.exists(deviceKey))
        }

        /// The file named by `--device-key` must be this vault's.
        @Test func noFileButTheDeviceKey() throws {
            let other = try Vault()
            let letter = try vault.folder.write("a letter", to: "letter")
            for (path, words) in [(letter, "not a device key"), (try other.deviceKeyFile(), "another vault")] {
                let before = try Data(contentsOf: URL(filePath: path))
                let outcome = try vault.latchkey(["erase", "--yes", "--device-key", path, vault.path])
                #expect(outcome.status == 1 && outcome.errors.contains(words), "\(outcome)")
                #expect(try Data(contentsOf: URL(filePath: path)) == before && Disk.exists(vault.keybag))
            }
            // Nor is a count in the current folder removed, if the keybag does not tell whose it is.
            _ = try vault.folder.write("mine", to: ".tries")
            try Data([1, 2, 3]).write(to: URL(filePath: vault.keybag))
            let command = "cd '\(vault.folder.path(""))' && '\(Built.latchkey)' erase --yes vault"
            let outcome = try shell(command, in: "/").succeeded()
            #expect(outcome.text.contains("is not known") && Disk.exists(vault.folder.path(".tries")), "\(outcome)")
        }

        /// A link leads to the device key; a killed program has left it under another name; it is missing.
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

        /// A program that is stopped while it tries a passcode blocks neither erasing nor another way in.
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

        /// What could not be destroyed is reported, and the keys in memory are wiped all the same.
        @Test(.enabled(if: Immutable.isAvailable, Immutable.why)) func notAllCanBeDestroyed() throws {
            let mount = try MountedVault(vault)
            defer {
                mount.detach()
                _ = try? shell("chattr -i '\(vault.keybag)'", in: "/")
            }
            try run("chattr", ["+i", vault.keybag])
            let outcome = try vault.latchkey(["erase", "--yes", mount.path])
            #expect(outcome.status == 1 && outcome.errors.contains("not all of the keys"), "\(outcome)")
            mount.daemon.wait()
            try shell("chattr -i '\(vault.keybag)'", in: "/").succeeded()
            #expect(!Disk.exists(deviceKey))
        }

        /// What was hindered is finished with the command that the message advises.
        @Test(.enabled(if: Immutable.isAvailable, Immutable.why), arguments: [true, false])
        func anInterruptedEraseIsFinished(_ isMounted: Bool) throws {
            let mount = isMounted ? try MountedVault(vault) : nil
            defer {
                mount?.detach()
                _ = try? shell("chattr -i '\(deviceKey)'", in: "/")
            }
            try run("chattr", ["+i", deviceKey])
            let outcome = try vault.latchkey(["erase", "--yes", mount?.path ?? vault.path])
            #expect(outcome.status == 1 && outcome.errors.contains(": Operation not permitted"), "\(outcome)")
            #expect(!outcome.errors.contains("io("), "\(outcome)")
            #expect(
                outcome.errors.contains("try: latchkey erase --device-key \(deviceKey) \(vault.path)"), "\(outcome)")
            mount?.daemon.wait()
            try run("chattr", ["-i", deviceKey]).succeeded()
            if isMounted {
                let plain = try vault.latchkey(["erase", "--yes", vault.path])
                let advice = "latchkey erase --device-key \(deviceKey) \(vault.path)   (destroys its device key"
                #expect(plain.status == 5 && plain.errors.contains(advice), "\(plain)")
            }
            let stranger = try Vault()
            let other = try stranger.deviceKeyFile()
            let foreign = try vault.latchkey(["erase", "--yes", "--device-key", other, vault.path])
            #expect(foreign.status == 1 && Disk.exists(other), "\(foreign)")
            let end = try vault.latchkey(["erase", "--yes", "--device-key", deviceKey, vault.path]).succeeded()
            #expect(end.text.contains("is erased: nothing opens it any more"), "\(end)")
            try expectErased()
            withExtendedLifetime(stranger) {}
        }

        /// The device key was moved while the vault is mounted.
        @Test func theDeviceKeyOfAMountIsElsewhere() throws {
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            try shell("mv '\(deviceKey)' '\(deviceKey).moved'", in: "/").succeeded()
            let outcome = try vault.latchkey(["erase", "--yes", mount.path]).succeeded()
            #expect(outcome.text.contains("not where it was") && !outcome.text.contains("nothing opens"), "\(outcome)")
            mount.daemon.wait()
        }
    }
}
