import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A vault that was not made for several machines becomes a synchronised one.
    @Suite struct WayUp {
        private typealias Machine = Synchronised.Machine

        private static let long = String(repeating: "n", count: 230)

        /// Files of all kinds, in folders in folders.
        private static let fill = """
            mkdir -p a/b/c/d "a/$LONG/in" empty closed
            for n in 1 2 3 4 5 6; do mkdir -p "many/$n"; echo "$n" > "many/$n/file"; done
            echo top > top; echo deep > a/b/c/d/deep; echo long > "a/$LONG/$LONG"; head -c 20000 /dev/zero > a/zeros
            setfattr -n user.note -v text a/b; setfattr -n user.note -v other top
            ln -s ../top a/link; ln top a/b/second; mkfifo a/pipe
            mv a/b/c/d a/b/moved; mkdir removed; rmdir removed
            chmod 500 closed; touch -d '2020-02-02 02:02:02.5 UTC' a/b/c a many
            """

        private static let synced =
            "mkdir d; for n in $(seq 40); do echo $n > d/$n; sync d/$n; echo again >> d/$n; sync d/$n; done"

        /// All that a program sees, but for times of access and of change.
        private func listing(_ mount: MountedVault) throws -> String {
            try shell(
                """
                find . -printf '%P %y %m %n %T@ %l\\n' | grep -v '^ ' | LC_ALL=C sort
                find . -type f | LC_ALL=C sort | xargs -d '\\n' sha256sum
                find . ! -type l | LC_ALL=C sort | xargs -d '\\n' getfattr -d -m '^user[.]note' 2> /dev/null || true
                """, in: mount.path
            ).text
        }

        private func expect(_ name: String, is text: String, in mount: MountedVault) throws {
            let found = try Disk.read(mount.file(name))
            #expect(found == Array(text.utf8), "\(name)")
        }

        /// As before a kill, which may come between the change of one folder and the call that gives it its time back.
        private func expect(_ before: String, on machine: Machine, _ comment: Comment) throws {
            var now = ""
            try machine.work { now = try listing($0) }
            let (old, new) = (before.split(separator: "\n"), now.split(separator: "\n"))
            #expect(old.count == new.count, comment)
            let others = zip(old, new).filter { $0 != $1 }
            let areFolders = others.allSatisfy { line, other in
                line.contains(" d ") && line.split(separator: " ").prefix(4) == other.split(separator: " ").prefix(4)
            }
            #expect(others.count <= 1 && areFolders, "\(comment): \(others)")
        }

        private func isSynchronised(_ vault: Vault) throws -> Bool {
            try vault.latchkey(["info", "--json", vault.path]).succeeded().text.contains("\"isSynchronised\" : true")
        }

        private func synchronise(_ vault: Vault) throws -> Outcome {
            try vault.latchkey(["synchronise", "--passcode-file", vault.passcodeFile, vault.path])
        }

        private func records(_ vault: Vault, kind: String) throws -> Int {
            let found = try shell("find . -name 'lk.dir*' -type \(kind) | wc -l", in: vault.path).text
            return Int(found.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
        }

        private func journals(_ vault: Vault) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: vault.path).filter { $0.hasPrefix("lk.journal") }
        }

        private func filled() throws -> (Machine, String) {
            let one = try Machine(1, [])
            var before = ""
            try one.work { mount in
                try shell("LONG=\(Self.long)\n\(Self.fill)", in: mount.path)
                before = try listing(mount)
            }
            return (one, before)
        }

        /// Everything is as before on this machine and on another one, and both change it apart from each other.
        @Test(.enabled(if: Synchronised.canBind, Synchronised.why)) func twoMachines() throws {
            let (one, before) = try filled()
            #expect(try records(one.vault, kind: "f") == 0 && !isSynchronised(one.vault))
            let made = try one.being { try synchronise(one.vault) }.succeeded()
            #expect(made.text.contains("is a synchronised one: several machines"), "\(made)")
            #expect(try records(one.vault, kind: "l") == 0 && isSynchronised(one.vault))
            #expect(try journals(one.vault).allSatisfy { $0.count == "lk.journal.0123456789abcdef".count })
            try one.fsckIsClean()
            let two = try Machine(2, copying: one.vault)
            let base = one.vault.folder.path("base")
            try run("cp", ["-a", one.vault.path, base])
            for machine in [one, two] {
                try machine.work { mount in
                    let now = try listing(mount)
                    #expect(now == before)
                    let status = try mount.latchkey("status", mount.path, "--json").succeeded().text
                    #expect(status.contains("\"synchronised\" : true"), "\(status)")
                    let text = try mount.latchkey("status", mount.path).text
                    #expect(text.contains("several, in turns"), "\(text)")
                }
                #expect(try machine.older().isEmpty)
            }
            #expect(try journals(two.vault).count == 2)
            try one.work("echo 1 > many/1/one; mkdir new; echo 1 > new/one; echo 1 >> top")
            try two.work("echo 2 > many/1/two; mkdir new; echo 2 > new/two; rm -r many/2")
            try Synchronised().meet(one, two, base: base)
            let files = try one.files()
            #expect(try files == two.files())
            for text in ["many/1/one 1", "many/1/two 2", "new/one 1", "new/two 2", "many/3/file 3"] {
                #expect(files.contains(text), "\(files)")
            }
            #expect(!files.contains("many/2/file 2"))
            try one.fsckIsClean()
            try two.fsckIsClean()
        }

        /// A second run, and one over links that an interrupted run has left.
        @Test func again() throws {
            let vault = try Vault()
            try withMount(vault) { try shell("mkdir -p a/b; echo x > a/b/file", in: $0.path) }
            let links = try shell("find . -name lk.dir -printf '%h %l\n'", in: vault.path).text
            try synchronise(vault).succeeded()
            let before = try shell("find . ! -path './lk.claims*' -printf '%p %i %T@ %C@ %s\n'", in: vault.path).text
            // It needs no passcode for that.
            let again = try vault.latchkey(["synchronise", vault.path]).succeeded()
            #expect(again.text.contains("is a synchronised one already"), "\(again)")
            #expect(
                try shell("find . ! -path './lk.claims*' -printf '%p %i %T@ %C@ %s\n'", in: vault.path).text == before)
            for line in links.split(separator: "\n") {
                let (folder, link) = (line.split(separator: " ")[0], line.split(separator: " ")[1])
                try shell("rm '\(folder)/lk.dir'; ln -s '\(link)' '\(folder)/lk.dir'", in: vault.path)
            }
            try withMount(vault) { mount in
                try expect("a/b/file", is: "x\n", in: mount)
            }
            let rest = try vault.latchkey(["synchronise", vault.path]).succeeded()
            #expect(rest.text.contains("what was left to do is done"), "\(rest)")
            #expect(try records(vault, kind: "l") == 0)
            try withMount(vault) { mount in
                try expect("a/b/file", is: "x\n", in: mount)
            }
        }

        /// Killed before system calls that change something, or let it be durable: the vault opens with all that it
        /// had, and the same command does the rest. LATCHKEY_KILLS is how often for each of these calls.
        @Test(.enabled(if: Synchronised.canBind, Synchronised.why)) func killed() throws {
            guard (try? run("strace", ["-V"])) != nil else {
                Issue.record("NOT TESTED: kills: strace is not installed")
                return
            }
            let (one, before) = try filled()
            let copy = one.vault.folder.path("copy")
            try run("cp", ["-a", one.vault.path, copy])
            var kills = 0
            var halves = 0
            let steps = ProcessInfo.processInfo.environment["LATCHKEY_KILLS"].flatMap { Int($0) } ?? 6
            for call in ["renameat2", "fsync", "utimensat", "pwrite64", "unlinkat"] {
                var ended = false
                // At the first calls, then at some.
                for step in 1...steps where !ended {
                    try shell(
                        """
                        rm -r '\(one.vault.path)'; cp -a '\(copy)' '\(one.vault.path)'
                        rm -f '\(try one.vault.deviceKeyFile()).seen'
                        """)
                    let at = step < 4 ? step : (step - 3) * (step - 3) + step
                    let outcome = try one.being {
                        try attempt(
                            "strace",
                            ["-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)"]
                                + ["-e", "inject=\(call):signal=KILL:when=\(at)", Built.latchkey, "synchronise"]
                                + ["--passcode-file", one.vault.passcodeFile, one.vault.path],
                            environment: one.vault.environment)
                    }
                    ended = outcome.status == 0
                    if !ended { kills += 1 }
                    if try records(one.vault, kind: "l") > 0, try isSynchronised(one.vault) { halves += 1 }
                    if step % 3 == 1 || ended {
                        try expect(before, on: one, "\(call) \(at)")
                    }
                    try one.being { try synchronise(one.vault) }.succeeded()
                    #expect(try records(one.vault, kind: "l") == 0, "\(call) \(at)")
                    try expect(before, on: one, "\(call) \(at)")
                    try one.fsckIsClean()
                }
            }
            print("synchronise: \(kills) kills, \(halves) of them with links left")
            #expect(kills > 15 && halves > 3)
        }

        /// What the daemon of a crashed session had synced is in the files first.
        @Test func afterACrash() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            try shell(Self.synced, in: mount.path)
            mount.kill()
            mount.detach()
            try synchronise(vault).succeeded()
            #expect(try journals(vault).allSatisfy { $0 != "lk.journal" })
            try withMount(vault) { mount in
                for number in 1...40 {
                    try expect("d/\(number)", is: "\(number)\nagain\n", in: mount)
                }
            }
            try vault.latchkey(["fsck", vault.path, "--passcode-file", vault.passcodeFile]).succeeded()
        }

        /// A machine has crashed before, and the program brings its journal to both.
        @Test(.enabled(if: Synchronised.canBind, Synchronised.why)) func journalOfAnother() throws {
            let one = try Machine(1, [])
            try one.work("for name in x y; do seq 3000 > $name; done")
            let two = try Machine(2, copying: one.vault)
            let base = one.vault.folder.path("base")
            try run("cp", ["-a", one.vault.path, base])
            try two.being {
                let mount = try MountedVault(two.vault)
                // A close would bring it into the files.
                let script = """
                    import os, signal, sys
                    for name in "xy":
                        file = os.open(name, os.O_RDWR)
                        os.pwrite(file, b"two", 0)
                        os.fsync(file)
                    os.kill(int(sys.argv[1]), signal.SIGKILL)
                    """
                let arguments = ["-c", "cd '\(mount.path)' && exec python3 -c '\(script)' \(mount.daemon.pid)"]
                try run("bash", arguments)
                mount.kill()
                mount.detach()
            }
            try one.being { try synchronise(one.vault) }.succeeded()
            try one.work("printf one | dd of=x conv=notrunc,fsync status=none")
            // A link that has become a file is removed first.
            try shell("find '\(two.vault.path)' '\(base)' -name lk.dir -type l -delete")
            try Synchronised().meet(one, two, base: base)
            #expect(try journals(one.vault).contains("lk.journal"))
            for _ in 1...2 {
                try one.work { mount in
                    let heads = try shell("head -c 3 x y", in: mount.path).text
                    #expect(heads == "==> x <==\none\n==> y <==\ntwo", "\(heads)")
                }
                try two.work { mount in
                    let heads = try shell("head -c 3 x y", in: mount.path).text
                    #expect(heads == "==> x <==\none\n==> y <==\ntwo", "\(heads)")
                }
            }
            let again = try one.being { try synchronise(one.vault) }.succeeded()
            #expect(again.text.contains("is a synchronised one already"), "\(again)")
            try one.fsckIsClean()
            try two.fsckIsClean()
        }

        /// A copy from before, with what was synced in its journal alone, gets the newest keybag.
        @Test func acceptedCopy() throws {
            let vault = try Vault()
            let mount = try MountedVault(vault)
            try shell(Self.synced, in: mount.path)
            mount.kill()
            mount.detach()
            let copy = vault.folder.path("copy")
            try run("cp", ["-a", vault.path, copy])
            try synchronise(vault).succeeded()
            try shell("rm -r '\(vault.path)'; mv '\(copy)' '\(vault.path)'")
            try vault.latchkey(["accept", "--keybag", "--passcode-file", vault.passcodeFile, vault.path]).succeeded()
            #expect(try isSynchronised(vault))
            // Of links for records, and of a journal from before, as docs/FORMAT.md says.
            try run(
                "python3",
                [Built.project + "/tools/read-vault.py", vault.path, "--device-key", vault.deviceKeyFile()]
                    + ["--passcode-file", vault.passcodeFile, "verify"]
            ).succeeded()
            let check = { (mount: MountedVault) throws in
                for number in 1...40 {
                    try expect("d/\(number)", is: "\(number)\nagain\n", in: mount)
                }
            }
            try withMount(vault, options: ["-o", "ro"], check)
            try withMount(vault, check)
            #expect(try !journals(vault).contains("lk.journal"))
            try withMount(vault) { try shell("echo later > d/1", in: $0.path) }
            try synchronise(vault).succeeded()
            #expect(try records(vault, kind: "l") == 0)
            try vault.latchkey(["fsck", vault.path, "--passcode-file", vault.passcodeFile]).succeeded()
        }

        /// A backup of the keybag from before knows nothing of it.
        @Test func restoredKeybag() throws {
            let vault = try Vault()
            try withMount(vault) { try shell("mkdir d; echo x > d/file", in: $0.path) }
            let backup = vault.folder.path("backup")
            let phrase = try vault.folder.write("five random words of no use", to: "phrase")
            let costs = ["--kdf-memory", "19", "--kdf-passes", "2"]
            try vault.latchkey(
                ["keybag", "backup", "--passcode-file", vault.passcodeFile, "--passphrase-file", phrase, "--weak"]
                    + costs + [backup, vault.path]
            ).succeeded()
            try synchronise(vault).succeeded()
            try withMount(vault) { try shell("mkdir later; echo y > later/file; echo y >> d/file", in: $0.path) }
            for lost in [true, false] {
                if lost { try FileManager.default.removeItem(atPath: vault.keybag) }
                try vault.latchkey(
                    ["keybag", "restore", "--passphrase-file", phrase, "--new-passcode-file", vault.passcodeFile]
                        + costs + [backup, vault.path]
                ).succeeded()
                #expect(try isSynchronised(vault))
                try withMount(vault) { mount in
                    try expect("d/file", is: "x\ny\n", in: mount)
                    try expect("later/file", is: "y\n", in: mount)
                }
            }
        }

        /// The vaults that tools/make-vectors.py makes from docs/FORMAT.md: files of all classes, interrupted renames,
        /// orphans and stale tails of a crash, foreign names, or a journal to replay.
        @Test(arguments: [[], ["--journal"], ["--journal-runs"]]) func vectors(_ which: [String]) throws {
            let vault = try Vault()
            for path in [vault.path, vault.passcodeFile, vault.recoveryKeyFile, try vault.deviceKeyFile()] {
                try FileManager.default.removeItem(atPath: path)
            }
            let tool = Built.project + "/tools/make-vectors.py"
            try run("python3", [tool, "--vault", vault.folder.path] + which).succeeded()
            let volume = String(hexadecimal: try Disk.read(vault.keybag)[28..<44])
            try FileManager.default.moveItem(
                atPath: vault.folder.path("device.key"), toPath: vault.folder.path("state/latchkey/\(volume).key"))
            try synchronise(vault).succeeded()
            try withMount(vault) { mount in
                try run("python3", [tool, "--compare", mount.path] + which).succeeded()
            }
            try run(
                "python3",
                [Built.project + "/tools/read-vault.py", vault.path, "--device-key", vault.deviceKeyFile()]
                    + ["--passcode-file", vault.passcodeFile, "verify"]
            ).succeeded()
        }

        /// Nothing is changed while the vault is mounted, by a wrong passcode, or if its store or its journal does not
        /// allow it.
        @Test func refused() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                try shell("mkdir d; echo x > d/file", in: mount.path)
                for path in [vault.path, mount.path] {
                    let refused = try vault.latchkey(["synchronise", "--passcode-file", vault.passcodeFile, path])
                    #expect(
                        refused.status == 1 && refused.errors.contains("is mounted, on")
                            && refused.errors.contains("latchkey unmount"), "\(refused)")
                }
                let status = try mount.latchkey("status", mount.path, "--json").text
                #expect(status.contains("\"synchronised\" : false"), "\(status)")
                let text = try mount.latchkey("status", mount.path).text
                #expect(text.contains("not a synchronised vault"), "\(text)")
            }
            let before = try shell("find . ! -path './lk.claims*' -printf '%p %i %T@ %C@ %s\n'", in: vault.path).text
            let wrong = try vault.folder.write("not the passcode", to: "wrong")
            #expect(try vault.latchkey(["synchronise", "--passcode-file", wrong, vault.path]).status == 3)
            #expect(
                try shell("find . ! -path './lk.claims*' -printf '%p %i %T@ %C@ %s\n'", in: vault.path).text == before)
            let journal = vault.path + "/lk.journal"
            let head = try Disk.read(journal)
            try shell("printf x | dd of='\(journal)' bs=1 seek=100 conv=notrunc status=none")
            let damaged = try synchronise(vault)
            #expect(damaged.status == 6 && damaged.errors.contains("fsck --repair"), "\(damaged)")
            #expect(try !isSynchronised(vault) && records(vault, kind: "f") == 0)
            try Data(head).write(to: URL(filePath: journal))
            guard geteuid() == 0 else { return }
            try run("mount", ["--bind", vault.path, vault.path])
            defer { unsafe umount2(vault.path, Int32(MNT_DETACH)) }
            try run("mount", ["-o", "remount,bind,ro", vault.path])
            let still = try synchronise(vault)
            #expect(still.status == 1 && still.errors.contains("Read-only file system"), "\(still)")
            #expect(try !isSynchronised(vault))
        }

        /// Modes that keep their owner out of folders do not matter.
        @Test func ofAnOrdinaryUser() throws {
            if let missing = OrdinaryUserScript.missing {
                Issue.record("NOT TESTED: a vault of an ordinary user: \(missing)")
                return
            }
            try OrdinaryUserScript.run(
                """
                make vault; mkdir mount
                latchkey mount --unlock --passcode-file passcode vault mount
                mkdir -p mount/a/b; echo x > mount/a/b/file; chmod 500 mount/a/b; chmod 000 mount/a
                latchkey unmount mount
                latchkey synchronise --passcode-file passcode vault
                latchkey mount --unlock --passcode-file passcode vault mount
                [ "$(stat -c %a mount/a)" = 0 ]; chmod 700 mount/a; [ "$(cat mount/a/b/file)" = x ]
                latchkey unmount mount
                [ -z "$(find vault -name lk.dir -type l)" ]
                """, user: 47_113)
        }
    }
}
