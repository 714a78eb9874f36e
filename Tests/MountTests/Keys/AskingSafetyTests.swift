import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Programs that ask: which one is not run, and how one ends.
    @Suite struct ProgramsThatAsk {
        private static let user = 61310

        /// A signal that ends latchkey ends the dialogue first, with what it has started.
        @Test(arguments: ["INT", "TERM", "HUP"]) func interrupted(signal: String) throws {
            let vault = try Vault()
            let started = vault.folder.path("started")
            let asker = try Asker(["sleep 1000 & echo $! $$ >'\(started)'; wait"], in: vault.folder)
            try run(
                "python3",
                [
                    "-c",
                    """
                    import os, signal, subprocess, sys, time
                    program, started, vault, name = sys.argv[1:]
                    os.mkfifo(started)
                    process = subprocess.Popen(
                        [program, "slot", "test", vault], start_new_session=True, stdin=subprocess.DEVNULL)
                    asking = [int(word) for word in open(started).read().split()]
                    number = getattr(signal, "SIG" + name)
                    os.kill(process.pid, number)
                    assert process.wait(timeout=20) == -number, process.returncode
                    for asker in asking:
                        end = time.monotonic() + 20
                        while time.monotonic() < end:
                            try:
                                state = open(f"/proc/{asker}/stat").read().rsplit(")", 1)[1].split()[0]
                            except FileNotFoundError:
                                break
                            if state == "Z":
                                break
                            time.sleep(0.005)
                        else:
                            raise SystemExit("what asks lives on")
                    """, Built.latchkey, started, vault.path, signal,
                ], environment: vault.environment.merging(["LATCHKEY_ASKPASS": asker.path]) { $1 }
            ).succeeded()
            #expect(asker.questions().count == 1)
        }

        /// Ctrl-C in a terminal, where the program is preferred, ends both too.
        @Test func ctrlC() throws {
            let vault = try Vault()
            let started = vault.folder.path("started")
            let asker = try Asker(["echo $$ >'\(started)'; exec sleep 1000"], in: vault.folder)
            try run(
                "python3",
                [
                    "-c",
                    """
                    import os, pty, signal, sys, time
                    program, started, vault = sys.argv[1:]
                    os.mkfifo(started)
                    child, terminal = pty.fork()
                    if child == 0:
                        os.execv(program, [program, "slot", "test", vault])
                    asker = int(open(started).read())
                    os.write(terminal, b"\\x03")
                    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    assert status == -signal.SIGINT, status
                    end = time.monotonic() + 20
                    while os.path.exists(f"/proc/{asker}") and time.monotonic() < end:
                        time.sleep(0.005)
                    assert not os.path.exists(f"/proc/{asker}"), "what asks lives on"
                    """, Built.latchkey, started, vault.path,
                ],
                environment: vault.environment.merging([
                    "LATCHKEY_ASKPASS": asker.path, "SSH_ASKPASS_REQUIRE": "prefer",
                ]) { $1 }
            ).succeeded()
        }

        /// A path cannot forge a question, nor fill the screen.
        @Test func hostileNames() throws {
            let folder = try TemporaryFolder()
            for name in [
                "a\nPasscode of etc: ", "\u{1b}[2J\u{202e}", "<img src=x>&amp;", String(repeating: "x&", count: 120),
            ] {
                let home = try TemporaryFolder()
                let vault = try Vault(in: home, at: folder.path(name))
                let asker = try Asker(typing: Vault.passcode, in: home)
                let outcome = try vault.latchkey(
                    ["slot", "test", vault.path], askingBy: ["LATCHKEY_ASKPASS": asker.path])
                let question = asker.questions().first ?? ""
                #expect(outcome.status == 0 && question.hasPrefix("Passcode of /"), "\(outcome)")
                #expect(!question.contains { "\n\u{1b}\u{202e}<&".contains($0) } && question.count < 210, "\(question)")
            }
        }

        /// Root does not run what another user can change; that user does.
        @Test(.enabled(if: geteuid() == 0, "needs root"))
        func root() throws {
            let vault = try Vault()
            let folder = try vault.folder.makeFolder("bin")
            let asker = try Asker(typing: Vault.passcode, Vault.passcode, in: vault.folder)
            let test = { try vault.latchkey(["slot", "test", vault.path], askingBy: ["LATCHKEY_ASKPASS": $0]) }
            try shell("chown \(Self.user) '\(asker.path)'")
            let foreign = try test(asker.path)
            #expect(foreign.status == 1 && foreign.errors.contains("belongs to user \(Self.user)"), "\(foreign)")
            try shell("chown root '\(asker.path)'; chmod 757 '\(asker.path)'")
            let writable = try test(asker.path)
            #expect(writable.status == 1 && writable.errors.contains("other users can write to"), "\(writable)")
            try shell(
                "chmod 755 '\(asker.path)'; ln -s '\(asker.path)' '\(folder)/link'; chown \(Self.user) '\(folder)'")
            #expect(asker.questions().isEmpty)
            // What counts is where the program lies.
            #expect(try test(folder + "/link").status == 0)
            try shell("rm '\(folder)/link'; mv '\(asker.path)' '\(folder)/moved'")
            let moved = try test(folder + "/moved")
            #expect(moved.status == 1 && moved.errors.contains("belongs to user"), "\(moved)")
            #expect(asker.questions().count == 1)
        }

        /// An ordinary user's own program asks; not so for a program with more rights than its caller.
        @Test(.enabled(if: geteuid() == 0, "needs root"))
        func anOrdinaryUser() throws {
            let home = try TemporaryFolder()
            let asker = try Asker(typing: Vault.passcode, "wrong", in: home)
            let program = home.path("latchkey")
            try shell("cp '\(Built.latchkey)' '\(program)'; chmod 711 '\(home.path)'")
            let vault = try Vault(in: home)
            try shell("chown -R \(Self.user) '\(home.path)/vault' '\(home.path)/state' '\(home.path)/runtime'")
            try shell("touch '\(asker.path).questions'; chown \(Self.user) '\(asker.path)' '\(asker.path).questions'")
            let words = ["setpriv", "--reuid", "\(Self.user)", "--clear-groups"]
            let test = {
                try attempt(
                    "setsid",
                    ["--wait"] + words + ["sh", "-c", "exec \"$0\" \"$@\" </dev/null", program]
                        + ["slot", "test", vault.path],
                    environment: vault.environment.merging(["LATCHKEY_ASKPASS": asker.path]) { $1 })
            }
            let own = try test()
            #expect(own.status == 0 && asker.questions().count == 1, "\(own)")
            try shell("chown root:root '\(program)'; chmod 6755 '\(program)'")
            let privileged = try test()
            #expect(privileged.errors.contains("no passcode in standard input"), "\(privileged)")
            #expect(privileged.status == 1 && asker.questions().count == 1, "\(privileged)")
        }
    }
}
