import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// What prevents a file from getting a new key: the old keys stay for it, and no command reports that all is done.
    @Suite struct RotationHindrances {
        private func opened(_ vault: Vault) throws -> Outcome {
            try run(
                "python3",
                [
                    Built.project + "/tools/read-vault.py", "--device-key", try vault.deviceKeyFile(),
                    "--passcode-file", vault.passcodeFile, vault.path, "verify",
                ], within: 60)
        }

        private func rotate(_ vault: Vault, _ place: String, _ options: [String] = ["--wait"]) throws -> Outcome {
            try vault.latchkey(
                ["rotate", "--yes", "--passcode-file", vault.passcodeFile]
                    + ["--recovery-key-file", vault.folder.path("new-recovery-key")] + options + [place])
        }

        /// Another program has a lease on the file in the vault, as file servers do.
        @Test func aLease() throws {
            let vault = try Vault()
            try withMount(vault) { try shell("echo hello > a", in: $0.path).succeeded() }
            let name = try #require(Disk.tree(vault.path).first { !$0.hasPrefix("lk.") })
            let script = """
                import fcntl, os, signal, sys
                signal.signal(signal.SIGIO, signal.SIG_IGN)
                file = os.open(sys.argv[1], os.O_RDONLY)
                for line in sys.stdin:
                    fcntl.fcntl(file, 1024, fcntl.F_RDLCK if line.startswith("take") else fcntl.F_UNLCK)
                    print("ok", flush=True)
                """
            try withMount(vault) { mount in
                let holder = try Probe(
                    "/usr/bin/env", ["python3", "-u", "-c", script, vault.path + "/" + name],
                    environment: Environment.plain)
                try holder.ask("take").required("a lease")
                let outcome = try rotate(vault, mount.path)
                #expect(outcome.status == 1 && outcome.errors.contains("could not be given the new keys"), "\(outcome)")
                try holder.ask("leave").required("the end of the lease")
                try vault.latchkey(["rotate", "--wait", mount.path]).succeeded()
                let text = try shell("cat a", in: mount.path).succeeded().text
                #expect(text == "hello\n")
            }
            try opened(vault).succeeded()
        }

        /// A read-only copy that a sync program has made under another name: it must open when it is moved back to its
        /// name.
        @Test(.enabled(if: Immutable.isAvailable, Immutable.why)) func aCopyThatIsImmutable() throws {
            let vault = try Vault()
            try withMount(vault) { try shell("echo hello > a", in: $0.path).succeeded() }
            let name = try #require(Disk.tree(vault.path).first { !$0.hasPrefix("lk.") })
            let (file, copy) = ("'\(vault.path)/\(name)'", "'\(vault.path)/\(name) (conflict copy)'")
            defer { _ = try? shell("chattr -i \(copy)", in: "/") }
            try shell("cp -a \(file) \(copy); chattr +i \(copy)", in: "/")
            try withMount(vault) { mount in
                let stuck = try rotate(vault, mount.path)
                #expect(stuck.status == 1)
                try shell("chattr -i \(copy)", in: "/").succeeded()
                try vault.latchkey(["rotate", "--wait", mount.path]).succeeded()
            }
            try shell("cat \(copy) > \(file)", in: "/").succeeded()
            try opened(vault).succeeded()
        }

        /// On a disk whose listings do not give the type of an entry.
        @Test(.enabled(if: LoopDisk.isAvailable)) func listingsWithoutKinds() throws {
            let disk = try LoopDisk(options: ["-O", "^filetype"])
            let vault = try Vault(at: disk.path + "/vault")
            try withMount(vault) { try shell("mkdir d; echo hello > d/a", in: $0.path).succeeded() }
            let name = try #require(Disk.tree(vault.path).first { !$0.hasPrefix("lk.") && !$0.contains("/") })
            let folder = vault.path + "/" + name
            try shell("cp -a '\(folder)' '\(folder) copy'", in: "/").succeeded()
            try withMount(vault) { try rotate(vault, $0.path).succeeded() }
            try shell("cp -a '\(folder) copy/.' '\(folder)'", in: "/").succeeded()
            try opened(vault).succeeded()
        }

        /// The daemon ends before it has answered: the recovery key that the vault has then is one that the user has.
        @Test(arguments: ["rotate", "slot"]) func theRecoveryKeyOfACommandInDoubt(command: String) throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            defer { mount.detach() }
            let key = vault.folder.path("new-recovery-key")
            let killer = """
                import os, signal, sys
                first = os.stat(sys.argv[1]).st_ino
                print("ok", flush=True)
                sys.stdin.readline()
                while True:
                    try:
                        if os.stat(sys.argv[1]).st_ino != first: break
                    except OSError: pass
                os.kill(int(sys.argv[2]), signal.SIGKILL)
                print("ok", flush=True)
                """
            let probe = try Probe(
                "/usr/bin/env", ["python3", "-u", "-c", killer, vault.keybag, "\(mount.daemon.pid)"],
                environment: Environment.plain)
            try probe.answer(within: 10).required("a look at the keybag")
            try probe.send(["go"])
            let outcome =
                command == "rotate"
                ? try rotate(vault, mount.path, [])
                : try vault.latchkey(
                    [
                        "slot", "add", "--passcode-file", vault.passcodeFile, "--new-file", key, "recovery-key",
                        mount.path,
                    ])
            mount.daemon.wait()
            let slots = try vault.latchkey(["slot", "list", vault.path]).succeeded().text
            #expect(slots.contains("3"), "the keybag was not changed: \(slots)")
            // The command may have printed the new key in time, or at least said that the new one counts.
            let isKnown = outcome.errors.contains("The old recovery key does not open the vault any more")
            if outcome.status != 0, !isKnown { #expect(outcome.errors.contains("Keep \(key)"), "\(outcome)") }
            try vault.latchkey(["slot", "test", "--recovery", "--recovery-key-file", key, vault.path]).succeeded()
        }

        /// A read-only mount keeps its old keys, and says so at once.
        @Test(.enabled(if: Immutable.isAvailable, Immutable.why)) func readOnly() throws {
            let vault = try Vault()
            try withMount(vault) { try shell("echo hello > a", in: $0.path).succeeded() }
            let name = try #require(Disk.tree(vault.path).first { !$0.hasPrefix("lk.") })
            let file = "'\(vault.path)/\(name)'"
            defer { _ = try? shell("chattr -i \(file)", in: "/") }
            try shell("chattr +i \(file)", in: "/")
            let stuck = try withMount(vault) { try rotate(vault, $0.path) }
            #expect(stuck.status == 1)
            try withMount(vault, options: ["-o", "ro"]) { mount in
                let outcome = try vault.latchkey(["rotate", "--wait", mount.path])
                #expect(outcome.status == 1 && outcome.errors.contains("read-only"), "\(outcome)")
                let status = try vault.latchkey(["status", mount.path]).succeeded().text
                #expect(status.contains("waiting"), "\(status)")
            }
        }
    }
}
