import Foundation
import TestSupport
import Testing

extension MountTests {
    /// A command that would break the policy is refused, and the message names the policy's line.
    @Suite struct PolicyInForce {
        private let vault: Vault
        private let policy: String

        init() throws {
            vault = try Vault()
            policy = vault.folder.path("policy.toml")
        }

        private func demand(_ lines: String...) throws {
            let file = URL(filePath: policy)
            try Data((["# A policy", ""] + lines).joined(separator: "\n").utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: policy)
        }

        private func expectRefused(_ arguments: [String], line: Int = 3, _ words: String) throws {
            let outcome = try vault.latchkey(arguments + ["--policy", policy])
            #expect(outcome.status == 1 && outcome.errors.contains("\(policy), line \(line)"), "\(outcome)")
            #expect(outcome.errors.contains(words), "\(outcome)")
        }

        private func mounting(_ options: [String] = []) throws -> [String] {
            ["mount", "--unlock", "--passcode-file", vault.passcodeFile] + options
                + [vault.path, try vault.folder.makeFolder("m\(UUID())")]
        }

        private func making(_ options: [String] = [], passcode: String? = nil) -> [String] {
            let path = vault.folder.path("n\(UUID())")
            return ["init", path, "--kdf-memory", "19", "--kdf-passes", "2", "--recovery-key-file", path + ".key"]
                + (options.contains("--no-passcode") ? [] : ["--passcode-file", passcode ?? vault.passcodeFile])
                + options
        }

        @Test func whatAVaultMustBeLike() throws {
            let escrow = vault.folder.path("escrow.pem")
            try run("openssl", ["genpkey", "-algorithm", "X25519", "-out", escrow]).succeeded()
            let publicKey = vault.folder.path("escrow-public.pem")
            try run("openssl", ["pkey", "-in", escrow, "-pubout", "-out", publicKey]).succeeded()
            for (rule, words) in [
                ("erase-after = 10", "never erased"), ("required-escrow-key = \"\(publicKey)\"", "escrow key"),
                ("allowed-device-keys = [\"tpm2\"]", "software"),
            ] {
                try demand(rule)
                try expectRefused(try mounting(), words)
            }
            try demand("required-escrow-key = \"\(publicKey)\"")
            try expectRefused(making(), "escrow key")
            try demand("required-escrow-key = \"\(publicKey)\"", "erase-after = 10")
            let made = making(["--recovery-public-key", publicKey])
            #expect(try vault.latchkey(made + ["--policy", policy]).succeeded().text.contains("10 wrong passcodes"))
            let point = try vault.folder.makeFolder("made")
            try vault.latchkey([
                "mount", "--unlock", "--passcode-file", vault.passcodeFile, "--policy", policy, made[1], point,
            ]).succeeded()
            let checked = try vault.latchkey(["policy", "check", "--policy", policy, point]).succeeded()
            #expect(!checked.text.contains("unknown") && checked.text.contains("kept"))
            try vault.latchkey(["unmount", point]).succeeded()
        }

        @Test func passcodes() throws {
            try demand("minimum-passcode-strength = 3")
            // Strong enough without a policy.
            let weak = try vault.folder.write("kxqvzjw", to: "weak")
            let passcode = ["--passcode-file", vault.passcodeFile]
            let change = passcode + ["--new-passcode-file", weak, vault.path]
            try expectRefused(["passwd"] + change, "strength")
            try expectRefused(["slot", "add", "passcode"] + change, "strength")
            try expectRefused(making(passcode: weak), "strength")
            try expectRefused(making(["--no-passcode"]), "strength")
            // The daemon keeps the policy that it was mounted with, whatever a command is given.
            try withMount(vault, options: ["--policy", policy]) { mount in
                for command in [["passwd"], ["slot", "add", "passcode"]] {
                    let outcome = try vault.latchkey(
                        command + passcode + ["--new-passcode-file", weak, mount.path])
                    #expect(outcome.status == 1 && outcome.errors.contains("\(policy), line 3"), "\(outcome)")
                }
                let good = try vault.folder.write("tundra velvet quorum ostrich dab", to: "good")
                try vault.latchkey(["passwd"] + passcode + ["--new-passcode-file", good, mount.path]).succeeded()
            }
        }

        @Test func classes() throws {
            try demand("minimum-class = \"complete-until-first-user-authentication\"")
            try expectRefused(making(["--default-class", "none"]), "none")
            try withMount(vault, options: ["--policy", policy]) { mount in
                let script = """
                    echo a > a
                    setfattr -n user.latchkey.class -v none a 2>&1 \
                    || setfattr -n user.latchkey.class -v D . 2>&1 || true
                    setfattr -n user.latchkey.class -v A a; getfattr --only-values -n user.latchkey.class a
                    """
                let text = try shell(script, in: mount.path).text
                #expect(text.components(separatedBy: "Operation not permitted").count == 3, "\(text)")
                #expect(text.hasSuffix("complete"))
                #expect(mount.logs(past: 0) && mount.messages.contains("\(policy), line 3"), "\(mount.messages)")
            }
        }

        /// New files get no weaker class than the policy's, though their folder has one from before the policy.
        @Test func classesOfWhatIsMade() throws {
            let vault = try Vault(["--default-class", "none"])
            try withMount(vault) { try shell("mkdir d; echo a > d/a", in: $0.path).succeeded() }
            try demand("minimum-class = \"complete-unless-open\"")
            try withMount(vault, options: ["--policy", policy]) { mount in
                let script = """
                    mkdir d/e; echo b > d/b; echo c > d/e/c
                    sqlite3 d/db 'pragma journal_mode=wal; create table t(x)' > d/x
                    for f in d/a d/b d/e d/e/c d/db; do getfattr --only-values -n user.latchkey.class $f; echo; done
                    """
                let text = try shell(script, in: mount.path).succeeded().text
                #expect(
                    text.split(separator: "\n") == ["none"] + [Substring](repeating: "complete-unless-open", count: 4))
                let set = try vault.latchkey(["class", "set", "D", mount.path + "/d"])
                #expect(set.status == 1 && set.errors.contains("policy"), "\(set)")
            }
        }

        /// A recovery for a mount that the policy forbids changes nothing.
        @Test func recovery() throws {
            try demand("allowed-device-keys = [\"tpm2\"]")
            let before = Disk.tree(vault.path)
            let keybag = try Data(contentsOf: URL(filePath: vault.keybag))
            let new = try vault.folder.write("another passcode", to: "new")
            try expectRefused(
                ["mount", "--recovery", "--recovery-key-file", vault.recoveryKeyFile, "--passcode-file", new]
                    + [vault.path, try vault.folder.makeFolder("m")], "software")
            #expect(try Data(contentsOf: URL(filePath: vault.keybag)) == keybag && Disk.tree(vault.path) == before)
        }

        /// The grace and the idle lock: the policy's values hold unless the command line sets others.
        @Test func times() throws {
            try demand("longest-grace = 1", "lock-when-idle-after = 2")
            try expectRefused(try mounting(["--grace", "5"]), "grace of 5 seconds")
            try expectRefused(try mounting(["--lock-when-idle", "3"]), line: 4, "3 seconds")
            try withMount(vault, grace: 0, options: ["--policy", policy]) { mount in
                try shell("echo secret > a; setfattr -n user.latchkey.class -v complete a", in: mount.path).succeeded()
                #expect(try mount.status().state == "unlocked")
                // A mount in use stays unlocked.
                let end = ContinuousClock.now + .seconds(4)
                while ContinuousClock.now < end {
                    try shell("touch b", in: mount.path).succeeded()
                    usleep(300_000)
                }
                #expect(try mount.status().state == "unlocked")
                // A status request does not count as use of the files.
                let limit = ContinuousClock.now + .seconds(20)
                while try mount.status().state != "locked", ContinuousClock.now < limit { usleep(50_000) }
                #expect(try mount.status().state == "locked")
                #expect(try attemptShell("cat a", in: mount.path).status != 0)
            }
        }

        /// The time of class C: the policy's value holds unless the command line sets a shorter one.
        @Test func forgetting() throws {
            try demand("forget-after = 72")
            try expectRefused(try mounting(["--forget-after", "73"]), "73 hours locked is later than after the 72")
            for (options, seconds) in [([], 72.0 * 3600), (["--forget-after", "90m"], 5400)] as [([String], Double)] {
                try withMount(vault, options: ["--policy", policy] + options) { mount in
                    let outcome = try mount.latchkey("status", "--json", mount.path).succeeded()
                    let json = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
                    #expect(json?["forgetAfter"] as? Double == seconds)
                    try mount.latchkey("policy", "check", "--policy", policy, mount.path).succeeded()
                }
            }
            try withMount(vault) { mount in
                let outcome = try mount.latchkey("policy", "check", "--policy", policy, mount.path)
                #expect(outcome.status == 1 && outcome.errors.contains("never closes class C"), "\(outcome)")
            }
        }

        /// What a mount does with files that are older than this machine has seen: what the policy demands holds unless
        /// the command line asks for more.
        @Test(arguments: ["warn", "strict"]) func olderFiles(least: String) throws {
            try demand("freshness = \"\(least)\"")
            func check(_ mount: MountedVault) throws -> Outcome {
                try mount.latchkey("policy", "check", "--policy", policy, mount.path)
            }
            for weaker in least == "warn" ? ["off"] : ["off", "warn"] {
                try expectRefused(
                    try mounting(["--freshness", weaker]), "the freshness \(weaker) is weaker than the \(least)")
                try withMount(vault, options: ["--freshness", weaker]) { mount in
                    let outcome = try check(mount)
                    #expect(outcome.status == 1 && outcome.text.contains("line 3  broken"), "\(outcome)")
                    #expect(outcome.errors.contains("try: latchkey unmount"), "\(outcome)")
                    #expect(outcome.errors.contains("latchkey mount --freshness \(least) \(vault.path)"), "\(outcome)")
                }
            }
            // Without a memory, a mount that only reads compares nothing yet, and keeps the rule all the same.
            let fresh = try Vault()
            for options in [[], ["--freshness", "strict"], ["-o", "ro"]] {
                try withMount(fresh, options: ["--policy", policy] + options) { mount in try check(mount).succeeded() }
                try? FileManager.default.removeItem(atPath: try fresh.deviceKeyFile() + ".marks")
            }
            // A mount that is to remember, and cannot, breaks it.
            let marks = try fresh.deviceKeyFile() + ".marks"
            try FileManager.default.createDirectory(atPath: marks, withIntermediateDirectories: false)
            try withMount(fresh) { mount in
                let outcome = try check(mount)
                #expect(outcome.status == 1 && outcome.errors.contains("the freshness off"), "\(outcome)")
            }

            let (scene, before) = try FreshnessScene.changedTwice()
            try scene.putBack(.file, from: before)
            try withMount(scene.vault, options: ["--policy", policy]) { mount in
                let read = try attemptShell("cat file", in: mount.path)
                #expect((read.status == 0) == (least == "warn"), "\(read)")
                #expect(try scene.look(at: mount).older == 1)
                try check(mount).succeeded()
            }
        }

        /// A policy that cannot be parsed allows nothing.
        @Test func unusable() throws {
            try demand("longest-grace = \"soon\"")
            try expectRefused(try mounting(), "longest-grace")
            try expectRefused(making(), "longest-grace")
            try demand("longest-grace = 100")
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: policy)
            let open = try vault.latchkey(try mounting() + ["--policy", policy])
            #expect(open.status == 1 && open.errors.contains(policy), "\(open)")
            let missing = try vault.latchkey(try mounting() + ["--policy", policy + ".missing"])
            #expect(missing.status == 1 && missing.errors.contains("no such file"), "\(missing)")
        }
    }
}
