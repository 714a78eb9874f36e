import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The passcode is what a command prints, as one of a password manager does.
    @Suite struct PasscodeCommands {
        private static let print = "printf '%s\\n' '\(Vault.passcode)'"

        @Test func everyCommandThatTakesAPasscodeFile() throws {
            let vault = try Vault()
            let option = ["--passcode-command", Self.print]
            let point = try vault.folder.makeFolder("point")
            try vault.latchkey(["mount"] + option + [vault.path, point]).succeeded()
            try vault.latchkey(["lock", "--now", "--wait", point]).succeeded()
            try vault.latchkey(["unlock"] + option + [point]).succeeded()
            // The daemon, which has read it, keeps it out of what other programs can read.
            let status = try vault.latchkey(["status", "--json", point]).succeeded()
            let pid = try MountStatus(json: status.output).pid
            for file in ["cmdline", "environ"] {
                let bytes = try Data(contentsOf: URL(filePath: "/proc/\(pid)/\(file)"))
                #expect(!String(decoding: bytes, as: UTF8.self).contains(Vault.passcode))
            }
            try vault.latchkey(["slot", "test"] + option + [point]).succeeded()
            try vault.latchkey(["passwd"] + option + ["--new-passcode-file", vault.passcodeFile, point]).succeeded()
            let key = vault.folder.path("key")
            try vault.latchkey(["slot", "add", "key-file"] + option + ["--new-file", key, point]).succeeded()
            try vault.latchkey(["unmount", point]).succeeded()
            try vault.latchkey(["fsck"] + option + [vault.path]).succeeded()
            let new = vault.folder.path("new")
            try vault.latchkey(["init", "--kdf-memory", "19", "--kdf-passes", "2"] + option + [new]).succeeded()
            try vault.latchkey(["slot", "test"] + option + [new]).succeeded()
        }

        /// What it prints, and how it ends, decides whether a passcode is tried.
        @Test func whatIsRefused() throws {
            let vault = try Vault(["--erase-after", "4"])
            try withMount(vault, unlocked: false) { mount in
                let refusals: [(command: String, status: Int32, words: String)] = [
                    ("\(Self.print); exit 7", 1, "ended with exit code 7; nothing was tried\n  try: the same without"),
                    ("\(Self.print); kill -TERM $$", 1, "was ended by signal 15; nothing was tried"),
                    ("/no/such/program", 1, "ended with exit code 127; nothing was tried"),
                    ("\(Self.print); echo url: x", 2, "in the output of its command has a second line"),
                    ("printf 'x\\r\\n'", 2, "in the output of its command has a carriage return"),
                    ("true", 1, "no passcode in the output of its command"),
                    ("yes", 1, "longer than 1024 bytes"), ("yes | tr -d '\\n'", 1, "longer than 1024 bytes"),
                    ("cat", 1, "no passcode in the output of its command"), ("echo wrong", 3, "passcode"),
                ]
                for (command, status, words) in refusals {
                    let outcome = try vault.latchkey(
                        ["unlock", "--passcode-command", command, mount.path], input: Array("secret\n".utf8))
                    #expect(outcome.status == status && outcome.errors.contains(words), "\(command): \(outcome)")
                    #expect(!outcome.errors.contains(Vault.passcode), "\(outcome)")
                }
                for more in [["--passcode-file", vault.passcodeFile], ["--passcode-fd", "0"], ["--ask-password"]] {
                    let command = ["unlock", "--passcode-command", "true", mount.path] + more
                    #expect(try vault.latchkey(command).status == 2)
                }
                let noisy = try vault.latchkey(
                    ["unlock", "--passcode-command", "echo unlocking the safe >&2; \(Self.print)", mount.path])
                #expect(noisy.status == 0 && noisy.errors.contains("unlocking the safe"), "\(noisy)")
            }
        }

        /// Ctrl-C reaches the command and latchkey, and ends both.
        @Test func interrupted() throws {
            let vault = try Vault()
            try withMount(vault, unlocked: false) { mount in
                let started = vault.folder.path("started")
                try run(
                    "python3",
                    [
                        "-c",
                        """
                        import os, signal, subprocess, sys, time
                        program, started, mount = sys.argv[1:]
                        os.mkfifo(started)
                        command = f"echo $$ > '{started}'; exec sleep 1000"
                        words = [program, "unlock", "--passcode-command", command, mount]
                        process = subprocess.Popen(words, start_new_session=True)
                        sleeper = int(open(started).read())
                        os.killpg(process.pid, signal.SIGINT)
                        assert process.wait(timeout=20) == -signal.SIGINT, process.returncode
                        end = time.monotonic() + 20
                        while time.monotonic() < end:
                            try:
                                state = open(f"/proc/{sleeper}/stat").read().rsplit(")", 1)[1].split()[0]
                            except FileNotFoundError:
                                break
                            if state == "Z":
                                break
                            time.sleep(0.005)
                        else:
                            raise SystemExit("the command lives on")
                        """, Built.latchkey, started, mount.path,
                    ], environment: vault.environment
                ).succeeded()
                #expect(try mount.status().state == "before-first-unlock")
            }
        }

        /// A source of the passcode says that it is to be unlocked.
        @Test func aSourceOfThePasscodeUnlocks() throws {
            let vault = try Vault()
            let point = try vault.folder.makeFolder("point")
            let wrong = try vault.folder.write("wrong", to: "wrong")
            let refused = try vault.latchkey(["mount", "--passcode-file", wrong, vault.path, point])
            #expect(refused.status == 3 && mountLines(of: point).isEmpty, "\(refused)")
            try vault.latchkey(["mount", "--passcode-file", vault.passcodeFile, vault.path, point]).succeeded()
            let status = try vault.latchkey(["status", "--json", point]).succeeded()
            #expect(try MountStatus(json: status.output).state == "unlocked")
            try vault.latchkey(["unmount", point]).succeeded()
        }

        @Test func ofANamedVault() throws {
            let scene = try NamedScene()
            try scene.makeVault("work", "--default-class", "complete")
            let tables = try String(contentsOfFile: scene.configuration, encoding: .utf8)
            try scene.configure(tables + "passcode-command = \"echo asked >> asked; cat passcode\"\n")
            let checked = try scene.latchkey("config", "check").succeeded().text
            #expect(checked.contains("work: its passcode is what the command echo asked"), "\(checked)")
            func asked() -> Int { (try? Disk.read(scene.home.path("asked")).count / 6) ?? 0 }

            try scene.latchkey("open", "work").succeeded()
            #expect(try scene.state("work") == "unlocked" && asked() == 1)
            try scene.latchkey("lock", "--now", "--wait", "work").succeeded()
            try scene.latchkey("open", "work").succeeded()
            try scene.latchkey("lock", "--now", "--wait", "work").succeeded()
            try scene.latchkey("unlock", "work").succeeded()
            #expect(try scene.state("work") == "unlocked" && asked() == 3)
            try scene.end("close", "work")
            try scene.latchkey("mount", "--unlock", "work").succeeded()
            #expect(try scene.state("work") == "unlocked" && asked() == 4)
            try scene.end("close", "work")

            // Not where it is not wanted: without --unlock, by the path, and with another way in.
            try scene.latchkey("mount", "work").succeeded()
            #expect(try scene.state("work") == "before-first-unlock" && asked() == 4)
            #expect(try scene.latchkey(["unlock", scene.home.path("work")], input: "wrong\n").status == 3)
            let key = ["--recovery", "--recovery-key-file", scene.recoveryKeyFile]
            try scene.latchkey(["unlock", "work"] + key).succeeded()
            try scene.latchkey("lock", "--now", "--wait", "work").succeeded()
            try scene.latchkey("unlock", "work", "--passcode-file", scene.passcodeFile).succeeded()
            #expect(asked() == 4)
            try scene.end("close", "work")
            try scene.latchkey("mount", "work", "--passcode-file", scene.passcodeFile).succeeded()
            #expect(try scene.state("work") == "unlocked" && asked() == 4)
            try scene.end("close", "work")
        }

        @Test func aVaultWithoutPasscodeNeedsNone() throws {
            let scene = try NamedScene()
            try scene.latchkey("init", "--name", "open", "--no-passcode", "--recovery-key-file", scene.recoveryKeyFile)
                .succeeded()
            let tables = try String(contentsOfFile: scene.configuration, encoding: .utf8)
            try scene.configure(tables + "passcode-command = \"echo asked >> asked\"\n")
            for command in [["open"], ["mount", "--unlock"]] {
                try scene.latchkey(command + ["open"]).succeeded()
                #expect(try scene.state("open") == "unlocked")
                try scene.end("close", "open")
            }
            #expect(!Disk.exists(scene.home.path("asked")))
        }
    }
}
