import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A vault by its name, from its first day on.
    @Suite struct OpenClose {
        @Test func aVaultFromItsMakingToItsErasure() throws {
            let scene = try NamedScene()
            let made = try scene.makeVault("work", "--default-class", "complete")
            #expect(made.text.hasSuffix("  try: latchkey open work\n"), "\(made)")
            #expect(try scene.state("work") == "not-mounted")
            #expect(try scene.listed("work")["vault"] == scene.home.path(".local/share/latchkey/vaults/work"))
            let point = scene.home.path("work")
            #expect(try scene.listed("work")["mountPoint"] == point)

            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            #expect(try scene.state("work") == "unlocked")
            _ = try scene.home.write("mine", to: "work/file")
            // Open already: nothing is asked.
            #expect(try scene.latchkey("open", "work").succeeded().text == "work is open already, on \(point).\n")

            try scene.latchkey("lock", "--now", "--wait", "work").succeeded()
            #expect(try scene.state("work") == "locked")
            #expect(throws: (any Error).self) { try String(contentsOfFile: point + "/file", encoding: .utf8) }
            try scene.latchkey("open", "work", "--recovery", "--recovery-key-file", scene.recoveryKeyFile).succeeded()
            #expect(try String(contentsOfFile: point + "/file", encoding: .utf8) == "mine")

            try scene.end("close", "work")
            #expect(try scene.state("work") == "not-mounted" && mountLines(of: scene.home.path).isEmpty)
            let again = try scene.latchkey("close", "work")
            #expect(again.status == 5 && again.errors.contains("is not mounted"))
            // Other ways in than the passcode, also for the mount.
            try scene.latchkey("open", "work", "--recovery", "--recovery-key-file", scene.recoveryKeyFile).succeeded()
            #expect(try String(contentsOfFile: point + "/file", encoding: .utf8) == "mine")

            try scene.latchkey("erase", "--yes", "work").succeeded()
            #expect(try scene.state("work") == "erased")
            let listed = try scene.latchkey("list").succeeded().text
            let year = try shell("date +%Y-", in: "/").text.dropLast()
            #expect(listed.contains("  erased on \(year)") && !listed.contains("keybag missing"), "\(listed)")
            let json = try scene.latchkey("list", "--json").succeeded().text
            #expect(json.contains("\"erased\" : 1"), "\(json)")
            try shell("rm .local/share/latchkey/vaults/work/lk.erased", in: scene.home.path).succeeded()
            #expect(try scene.state("work") == "keybag-missing")
            #expect(try scene.latchkey("open", "work").status == 5)
        }

        @Test func aWrongPasscodeLeavesEverythingAsItWas() throws {
            let scene = try NamedScene()
            let wrong = try scene.home.write("wrong", to: "wrong")
            try scene.makeVault("work")
            let tables = try String(contentsOfFile: scene.configuration, encoding: .utf8)
            #expect(try scene.latchkey("open", "work", "--passcode-file", wrong).status == 3)
            #expect(try scene.state("work") == "not-mounted")
            // A mount point that the command has made is removed again.
            try scene.configure(tables.replacing("~/work", with: "~/deep/er"))
            #expect(try scene.latchkey("open", "work", "--passcode-file", wrong).status == 3)
            #expect(!Disk.exists(scene.home.path("deep/er")))
            try scene.latchkey("mount", "work").succeeded()
            #expect(try scene.latchkey("open", "work", "--passcode-file", wrong).status == 3)
            #expect(try scene.state("work") == "before-first-unlock")
            #expect(try scene.listed("work")["mountPoint"] == scene.home.path("deep/er"))
            try scene.end("close", "work")
        }

        @Test func whatElseOpensIt() throws {
            let scene = try NamedScene()
            let (secret, known, key) = (
                scene.home.path("private.pem"), scene.home.path("public.pem"), scene.home.path("key")
            )
            try run("openssl", ["genpkey", "-algorithm", "X25519", "-out", secret])
            try run("openssl", ["pkey", "-in", secret, "-pubout", "-out", known])
            try scene.makeVault("work", "--recovery-public-key", known)
            try scene.latchkey(
                "slot", "add", "key-file", "work", "--new-file", key, "--passcode-file", scene.passcodeFile
            ).succeeded()
            for options in [["--key-file", key], ["--escrow-key", secret]] {
                try scene.latchkey(["open", "work"] + options).succeeded()
                #expect(try scene.state("work") == "unlocked")
                try scene.end("close", "work")
            }
            // The device key alone: nothing is asked.
            _ = unsafe unlink(scene.recoveryKeyFile)
            try scene.latchkey(
                "init", "--name", "open", "--no-passcode", "--recovery-key-file", scene.recoveryKeyFile
            ).succeeded()
            try scene.latchkey("open", "open").succeeded()
            #expect(try scene.state("open") == "unlocked")
            try scene.latchkey("lock", "--now", "--wait", "open").succeeded()
            try scene.latchkey("open", "open").succeeded()
            #expect(try scene.state("open") == "unlocked")
            try scene.end("close", "open")
        }

        @Test func theConfigurationsSettingsApply() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            let table = try String(contentsOfFile: scene.configuration, encoding: .utf8)
            try scene.configure(
                table
                    + "grace = 77\nlock-when-idle = 500\nforget-after = 72\nwhen-locked = 'freeze'\nread-only = true\n"
                    + "options = ['noexec']\n")
            func status() throws -> [String: Any] {
                let outcome = try scene.latchkey("status", "--json", "work").succeeded()
                return try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any] ?? [:]
            }
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            var found = try status()
            #expect(found["grace"] as? Double == 77 && found["lockWhenIdle"] as? Double == 500)
            #expect(found["forgetAfter"] as? Double == 259_200)
            #expect(found["whenLocked"] as? String == "freeze" && found["readOnly"] as? Bool == true)
            #expect(mountLines(of: scene.home.path("work")).first?.contains("noexec") == true)
            try scene.end("close", "work")
            // What is typed wins.
            try scene.latchkey(
                "mount", "work", "--grace", "5", "--when-locked", "fail", "-o", "rw", "--lock-when-idle", "90",
                "--forget-after", "3d"
            ).succeeded()
            found = try status()
            #expect(found["grace"] as? Double == 5 && found["lockWhenIdle"] as? Double == 90)
            #expect(found["forgetAfter"] as? Double == 259_200)
            #expect(found["whenLocked"] as? String == "fail" && found["readOnly"] as? Bool == false)
            try scene.end("unmount", "work")
            // The lease stands in the claim, in milliseconds. docs/FORMAT.md, "Claims".
            try scene.configure(table + "lease = 31\n")
            try scene.latchkey("mount", "work").succeeded()
            let folder = try #require(try scene.listed("work")["vault"])
            let claims = try shell("ls lk.claims/lk.claim.* | tail -1", in: folder).succeeded().text
            let claim = try Disk.read(folder + "/" + claims.split(separator: "\n")[0])
            #expect(claim[12..<16].elementsEqual([0x18, 0x79, 0, 0]))
            try scene.end("unmount", "work")
            // The policy wins over the file.
            let policy = try scene.home.write("longest-grace = 30\n", to: "policy.toml")
            try scene.configure(table + "grace = 77\npolicy = '\(policy)'\n")
            let refused = try scene.latchkey("mount", "work")
            #expect(refused.status == 1 && refused.errors.contains("the grace of 77 seconds is longer than the 30"))
            _ = try scene.home.write("freshness = 'strict'\n", to: "policy.toml")
            try scene.configure(table + "freshness = 'warn'\npolicy = '\(policy)'\n")
            let weaker = try scene.latchkey("mount", "work")
            #expect(weaker.status == 1 && weaker.errors.contains("the freshness warn is weaker than the strict"))
            // In another place than the configured one.
            try scene.configure(table)
            let elsewhere = try scene.home.makeFolder("elsewhere")
            try scene.latchkey("mount", "work", elsewhere).succeeded()
            #expect(try scene.listed("work")["mountPoint"] == elsewhere)
            #expect(
                try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded().text
                    == "work is open, on \(elsewhere).\n")
            try scene.end("close", "work")
        }

        @Test func otherMachinesMayMountItToo() throws {
            let scene = try NamedScene()
            try scene.makeVault("work", "--synchronised", "yes")
            let table = try String(contentsOfFile: scene.configuration, encoding: .utf8)
            try scene.configure(table + "shared = true\n")
            func isShared(_ options: String...) throws -> Bool? {
                try scene.latchkey(["mount", "work"] + options).succeeded()
                defer { try? scene.end("unmount", "work") }
                let outcome = try scene.latchkey("status", "--json", "work").succeeded()
                let status = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
                return status?["shared"] as? Bool
            }
            #expect(try isShared() == true)
            #expect(try isShared("--no-shared", "-o", "ro") == false)
            let refused = try scene.latchkey("mount", "work", "-o", "ro")
            #expect(refused.status == 2 && refused.errors.contains("work has shared = true"), "\(refused)")
            #expect(refused.errors.contains("latchkey mount --no-shared work"))
        }

        @Test func aProgramThatUsesItKeepsItMountedAndLocked() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            let file = try scene.home.write("x", to: "work/file")
            let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
            let busy = try scene.latchkey("close", "work")
            #expect(busy.status == 1 && busy.errors.contains("is in use"), "\(busy)")
            #expect(try scene.state("work") == "locked")
            Glibc.close(descriptor)
            try scene.end("close", "work")
        }

        @Test func inTheForeground() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            let point = scene.home.path("work")
            let (input, log) = (try StreamFile(), try StreamFile())
            let daemon = try Child(
                Built.latchkey, ["mount", "--foreground", "work"],
                environment: Environment.plain.merging([
                    "HOME": scene.home.path, "XDG_STATE_HOME": scene.home.path("state"),
                ]) { $1 }, input: input.descriptor, output: log.descriptor, errors: log.descriptor)
            let end = ContinuousClock.now + .seconds(30)
            while mountLines(of: point).isEmpty, daemon.wait(seconds: 0.02) == nil, ContinuousClock.now < end {}
            #expect(try scene.state("work") == "before-first-unlock")
            // One that does not answer is found by its arguments, and its keys are not left behind.
            daemon.send(SIGSTOP)
            let stopped = try scene.latchkey("unmount", "work")
            #expect(stopped.status == 1 && stopped.errors.contains("process \(daemon.pid), is stopped"), "\(stopped)")
            daemon.send(SIGCONT)
            try scene.end("close", "work")
            #expect(daemon.wait(seconds: 20) == 0)
        }

        @Test func whatIsWrongIsListed() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            _ = try scene.home.makeFolder("plain")
            let work = scene.home.path(".local/share/latchkey/vaults/work")
            try scene.configure(
                "[vaults.gone]\nfolder = '~/gone'\nmount = '~/g'\n[vaults.plain]\nfolder = '~/plain'\nmount = '~/p'\n"
                    + "[vaults.work]\nfolder = '\(work)'\n")
            #expect(try scene.state("gone") == "folder-missing" && scene.state("plain") == "not-a-vault")
            let status = try scene.latchkey("status", "work")
            #expect(status.status == 5 && status.errors.hasSuffix("  try: latchkey open work\n"), "\(status)")
            for name in ["gone", "plain"] {
                #expect(try scene.latchkey("open", name).status == 5)
                #expect(try scene.latchkey("mount", name).status == 5)
            }
            try Disk.write(Array("no keybag".utf8), to: work + "/lk.keybag")
            #expect(try scene.state("work") == "damaged")
            #expect(try scene.latchkey("open", "none").status == 5)
        }

        /// What this user may not look into is not called "not a vault".
        @Test func withoutAccessToItsFolder() throws {
            if let missing = OrdinaryUserScript.missing {
                Issue.record("NOT TESTED: a vault without access to its folder: \(missing)")
                return
            }
            try OrdinaryUserScript.run(
                """
                make --name work; mkdir mount
                folder="$HOME/.local/share/latchkey/vaults/work"
                for closed in "$folder" "$HOME/.local/share/latchkey"; do
                    chmod 0 "$closed"
                    for command in "mount $folder mount" "status $folder" "fsck $folder" "info $folder" "open work"; do
                        refused latchkey $command
                        grep -q 'Permission denied' errors; if grep 'init' errors; then exit 1; fi
                    done
                    latchkey list --json | grep -q '"no-access"'
                    chmod 700 "$closed"
                done
                """, user: 61_240)
        }

        @Test func throughSymbolicLinks() throws {
            let scene = try NamedScene()
            _ = try scene.home.makeFolder("real")
            #expect(unsafe symlink("real", scene.home.path("link")) == 0)
            try scene.configure("[vaults.work]\nfolder = '~/link/v'\nmount = '~/link/m'\n")
            try scene.makeVault("work")
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            #expect(try scene.state("work") == "unlocked")
            #expect(try scene.latchkey("open", "work").succeeded().text.contains("open already"))
            let status = try MountStatus(json: try scene.latchkey("status", "--json", "work").succeeded().output)
            #expect(status.mountPoint == scene.home.path("real/m"))
            kill(pid_t(status.pid), SIGKILL)
            let end = ContinuousClock.now + .seconds(20)
            while kill(pid_t(status.pid), 0) == 0, ContinuousClock.now < end { usleep(5_000) }
            #expect(try scene.state("work") == "not-answering")
            try scene.end("close", "work")
        }

        @Test func aDeadDaemonIsSeenByName() throws {
            let scene = try NamedScene()
            try scene.makeVault("work")
            try scene.latchkey("open", "work", "--passcode-file", scene.passcodeFile).succeeded()
            let status = try MountStatus(json: try scene.latchkey("status", "--json", "work").succeeded().output)
            kill(pid_t(status.pid), SIGKILL)
            let end = ContinuousClock.now + .seconds(20)
            while kill(pid_t(status.pid), 0) == 0, ContinuousClock.now < end { usleep(5_000) }
            #expect(try scene.state("work") == "not-answering")
            let refused = try scene.latchkey("open", "work")
            #expect(refused.status == 5 && refused.errors.contains("latchkey unmount"), "\(refused)")
            try scene.end("close", "work")
            #expect(try scene.state("work") == "not-mounted")
        }
    }
}
