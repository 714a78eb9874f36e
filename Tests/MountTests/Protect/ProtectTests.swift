import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `latchkey protect` and `unprotect`: a folder that has files becomes a protected one, and back.
    @Suite struct Protecting {
        @Test func everythingIsThereAndBack() throws {
            let scene = try ProtectScene(ProtectScene.everything)
            let before = try scene.listing()
            let digests = scene.scene.home.path("digests")
            let said = try scene.protect("--digests", digests).succeeded().text
            #expect(mountLines(of: scene.folder).count == 1)
            #expect(try scene.listing() == before)
            #expect(try scene.scene.state("documents") == "unlocked")
            #expect(!Disk.exists(scene.workspace))
            // The digest that is shown is what standard programs find in the mount.
            let found = try shell(
                "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum", in: scene.folder
            ).text.prefix(64)
            #expect(said.split(separator: "\n").filter { $0.hasSuffix(found) }.count == 2, "\(said)")
            try run("sha256sum", ["--quiet", "-c", digests], directory: scene.folder)
            // The class of all: locked with the screen.
            #expect(
                try scene.scene.latchkey("class", "get", scene.folder + "/one").succeeded().text.contains("complete"))
            try scene.scene.latchkey("lock", "--now", "documents").succeeded()
            #expect(try attempt("cat", [scene.folder + "/one"]).status != 0)

            try scene.unprotect().succeeded()
            #expect(try scene.listing() == before)
            #expect(try scene.isOrdinary())
            #expect(try String(contentsOfFile: scene.scene.configuration, encoding: .utf8).isEmpty)
        }

        /// The vault is an ordinary one.
        @Test func theVaultIsSound() throws {
            let scene = try ProtectScene(ProtectScene.everything)
            let before = try scene.listing()
            try scene.protect().succeeded()
            try scene.scene.end("close", "documents")
            #expect(try attempt("touch", [scene.folder + "/plaintext"]).status != 0)
            try scene.scene.latchkey("fsck", "--passcode-file", scene.scene.passcodeFile, "documents").succeeded()
            try scene.scene.latchkey("open", "--passcode-file", scene.scene.passcodeFile, "documents").succeeded()
            #expect(try scene.listing() == before)
        }

        @Test func byAWord() throws {
            let scene = try ProtectScene("echo x > file")
            let home = scene.scene.home
            try shell("mkdir -p .config; mv Documents Dokumente", in: home.path)
            try Disk.write(
                Array("XDG_DOCUMENTS_DIR=\"$HOME/Dokumente\"\nXDG_MUSIC_DIR=\"$HOME/\"\n".utf8),
                to: home.path(".config/user-dirs.dirs"))
            let options = [
                "--yes", "--passcode-file", scene.scene.passcodeFile, "--kdf-memory", "19", "--kdf-passes", "2",
            ]
            try scene.scene.latchkey(["protect", "--recovery-key-file", home.path("key"), "documents"] + options)
                .succeeded()
            #expect(try Disk.read(home.path("Dokumente/file")) == Array("x\n".utf8))
            // A daemon that is slow to answer is listed as silent.
            try until("it is unlocked") { try scene.scene.state("dokumente") == "unlocked" }
            // The home itself stands for a folder that the user does not want.
            let music = try scene.scene.latchkey(["protect", "music"] + options)
            #expect(music.status == 5 && music.errors.contains("has no folder music"), "\(music)")
            try scene.scene.latchkey("unprotect", "--yes", "--passcode-file", scene.scene.passcodeFile, "documents")
                .succeeded()
            #expect(try Disk.read(home.path("Dokumente/file")) == Array("x\n".utf8))
        }

        @Test func theOriginalsAreKept() throws {
            let scene = try ProtectScene(ProtectScene.everything)
            let before = try scene.listing()
            try scene.protect("--keep").succeeded()
            #expect(try scene.listing() == before)
            #expect(try scene.listing(of: scene.folder + ".unprotected") == before)
            #expect(!Disk.exists(scene.workspace))
        }

        /// The disk's image has the contents of the originals until they are overwritten.
        @Test(.enabled(if: LoopDisk.isAvailable, "needs root and a loop device"), arguments: [true, false])
        func originalsOnARotatingDisk(isRotating: Bool) throws {
            let disk = try LoopDisk(size: "512M")
            let device = try shell("basename $(findmnt -no SOURCE '\(disk.path)')").text.split(separator: "\n")[0]
            try shell("echo \(isRotating ? 1 : 0) > /sys/block/\(device)/queue/rotational")
            let text = "the contents of the original, to be found on the disk"
            let scene = try ProtectScene(
                "for n in 1 2; do yes '\(text)' | head -n 1000 > $n || true; done", in: disk.path)
            try run("sync", ["-f", disk.path])
            #expect(try attempt("grep", ["-qaF", text, disk.image]).status == 0)
            try scene.protect().succeeded()
            try scene.scene.end("close", "documents")
            try run("sync", ["-f", disk.path])
            #expect((try attempt("grep", ["-qaF", text, disk.image]).status == 0) == !isRotating)
            // The home is on another file system, so the vault lies beside the folder.
            #expect(Disk.exists(disk.path + "/.documents.vault/lk.keybag"))
        }

        /// Nothing is lost, and with more space it goes on.
        @Test(.enabled(if: LoopDisk.isAvailable, "needs root and a loop device")) func aFullDisk() throws {
            let disk = try LoopDisk(size: "640M")
            let scene = try ProtectScene("for n in $(seq 20); do head -c 10M /dev/urandom > $n; done", in: disk.path)
            let before = try scene.listing()
            let child = try scene.start("protect")
            while !Disk.exists(scene.workspace + "/record") {
                guard child.wait(seconds: 0.01) == nil else { throw HarnessError(scene.lastErrors) }
            }
            // What the plan has counted as free goes meanwhile. It waits for that: moving may be faster than filling.
            child.send(SIGSTOP)
            try shell("head -c 700M /dev/zero > filling || true", in: disk.path)
            child.send(SIGCONT)
            let (status, said) = (child.wait(seconds: 60), scene.lastErrors)
            #expect(status == 1 && said.contains("no space left"), "\(String(describing: status)) \(said)")
            try shell("rm filling", in: disk.path)
            try scene.protect().succeeded()
            #expect(try scene.listing() == before)
            try scene.scene.end("close", "documents")
        }

        /// A class that was set on a file is there again when the folder is protected again.
        @Test func classesComeBack() throws {
            let scene = try ProtectScene("mkdir open; echo x > open/file; echo y > service; echo z > diary")
            try scene.protect().succeeded()
            try scene.scene.latchkey("class", "set", "none", scene.folder + "/service").succeeded()
            try scene.scene.latchkey("class", "set", "none", scene.folder + "/open").succeeded()
            try scene.unprotect().succeeded()
            try scene.protect().succeeded()
            for (path, name) in [("service", "none"), ("open", "none"), ("diary", "complete")] {
                let said = try scene.scene.latchkey("class", "get", scene.folder + "/" + path).succeeded().text
                #expect(said.contains(name), "\(path): \(said)")
            }
        }

        /// A copy that has a name opens as before when the vault is gone.
        @Test func theDeviceKeyOfACopyStays() throws {
            let scene = try ProtectScene("echo x > file")
            try scene.protect().succeeded()
            try scene.scene.end("close", "documents")
            try shell("cp -a .local/share/latchkey/vaults/documents copy; mkdir point", in: scene.home)
            let table = "[vaults.copy]\\nfolder = \"~/copy\"\\nmount = \"~/point\"\\n"
            try shell("printf '\(table)' >> .config/latchkey/config.toml", in: scene.home)
            let said = try scene.unprotect().succeeded().text
            #expect(said.contains("device key is kept") && said.contains(scene.home + "/copy"), "\(said)")
            #expect(!Disk.exists(scene.home + "/.local/share/latchkey/vaults/documents"))
            try scene.scene.latchkey("open", "--passcode-file", scene.scene.passcodeFile, "copy").succeeded()
            #expect(try Disk.read(scene.home + "/point/file") == Array("x\n".utf8))
        }

        /// Each line of standard output is one object; what is for people goes to standard error.
        @Test func asJSON() throws {
            let scene = try ProtectScene("for n in $(seq 40); do echo $n > $n; done")
            for (outcome, first) in [
                (try scene.protect("--json"), "plan"), (try scene.unprotect("--json"), "progress"),
            ] {
                try outcome.succeeded()
                let events = try outcome.text.split(separator: "\n").map { line in
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
                }
                let names = events.compactMap { $0["event"] as? String }
                #expect(names.count == events.count && [first, "end"].contains(names.first), "\(names)")
                let end = events.first { $0["event"] as? String == "end" }
                #expect(end?["digestBefore"] as? String != nil, "\(names)")
                #expect(end?["digestBefore"] as? String == end?["digestAfter"] as? String)
                #expect(outcome.errors.contains(scene.folder))
            }
        }

        /// Also if nothing reads what it writes any more, as after the end of a window.
        @Test func withoutAReader() throws {
            let scene = try ProtectScene("for n in $(seq 400); do echo $n > $n; done")
            for command in ["protect", "unprotect"] {
                let words = scene.arguments(command, ["--json"]).map { "'\($0)'" }.joined(separator: " ")
                _ = try shell(
                    "set +e; '\(Built.latchkey)' \(words) 2>&1 | true; exit 0", in: scene.home,
                    environment: scene.scene.environment)
                try until("\(command) has ended") { !Disk.exists(scene.workspace) }
                #expect(try Disk.read(scene.folder + "/7") == Array("7\n".utf8), "after \(command)")
                #expect(mountLines(of: scene.folder).isEmpty == (command == "unprotect"))
            }
        }

        /// Nothing is done before the passcode is known to be right.
        @Test func aWrongPasscodeUnmountsNothing() throws {
            let scene = try ProtectScene("echo x > file")
            try scene.protect().succeeded()
            let wrong = scene.scene.home.path("wrong")
            try shell("umask 077; echo 'not this one at all' > '\(wrong)'")
            let refused = try scene.scene.latchkey(
                "unprotect", "--yes", "--passcode-file", wrong, scene.folder)
            #expect(refused.status == 3, "\(refused)")
            #expect(!Disk.exists(scene.workspace) && !mountLines(of: scene.folder).isEmpty)
            #expect(try Disk.read(scene.folder + "/file") == Array("x\n".utf8))
        }

        /// A name in another alphabet, or one that is taken, gives the vault another name.
        @Test(arguments: [("Öffentlich ß", "offentlich"), ("מסמכים", "folder"), ("- 2 -", "2"), ("taken", "taken-2")])
        func names(folder: String, vault: String) throws {
            let scene = try ProtectScene("true")
            try shell(
                "mkdir './\(folder)'; echo x > './\(folder)/file'; mkdir -p .local/share/latchkey/vaults/taken",
                in: scene.home)
            let path = scene.home + "/" + folder
            defer { _ = try? attempt("chattr", ["-f", "-i", path]) }
            let done = try scene.scene.latchkey(
                [
                    "protect", "--yes", "--passcode-file", scene.scene.passcodeFile, "--kdf-memory", "19",
                    "--kdf-passes", "2",
                    "--recovery-key-file", scene.home + "/recovery", path,
                ])
            try done.succeeded()
            #expect(done.text.contains("in the vault \(vault),"), "\(done)")
        }

        /// --plan leaves everything as it is, and knows an interrupted run.
        @Test func plan() throws {
            let scene = try ProtectScene("for n in $(seq 400); do echo $n > $n; done; ln 1 ../outside")
            let before = try scene.listing()
            func events(_ outcome: Outcome) throws -> [[String: Any]] {
                try outcome.text.split(separator: "\n").map { line in
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
                }
            }
            let ready = try scene.protect("--plan", "--json")
            try ready.succeeded()
            let found = try events(ready)
            #expect(found.map { $0["event"] as? String } == ["linked-outside", "plan"], "\(ready)")
            #expect(found.last?["allEntries"] as? Int == 400 && found.last?["path"] as? String == scene.folder)
            #expect(try scene.listing() == before)
            #expect(!Disk.exists(scene.workspace))
            try scene.interrupt("protect", by: SIGKILL)
            let later = try scene.protect("--plan", "--json")
            try later.succeeded()
            let again = try events(later)
            #expect(again.map { $0["event"] as? String } == ["unfinished", "recovery-key"], "\(later)")
            #expect(again.first?["direction"] as? String == "protect" && again.first?["step"] as? String == "moving")
            #expect(again.last?["path"] as? String == scene.scene.home.path("recovery"))
            #expect(later.errors.contains("protect --undo"), "\(later)")
        }

        // MARK: Refused

        @Test(arguments: [
            ("/", "cannot be protected"), (".", "need files in it"), ("state", "which latchkey needs"),
            ("missing", "No such file"), ("file", "is not a folder"), (".config", "which latchkey needs"),
        ])
        func whatCannotBe(path: String, words: String) throws {
            let scene = try ProtectScene("echo x > file")
            try shell("touch file; mkdir -p .config/latchkey", in: scene.home)
            let outcome = try scene.scene.latchkey(
                "protect", "--yes", "--passcode-file", scene.scene.passcodeFile, path)
            #expect(outcome.status != 0 && outcome.errors.contains(words), "\(outcome)")
            #expect(try scene.isOrdinary())
        }

        @Test func vaultsAndWhatLiesInThem() throws {
            let scene = try ProtectScene("mkdir inner; echo x > inner/file; echo y > other")
            try scene.protect().succeeded()
            for path in [scene.folder, scene.folder + "/inner", scene.home + "/.local/share/latchkey/vaults"] {
                let outcome = try scene.scene.latchkey(
                    "protect", "--yes", "--passcode-file", scene.scene.passcodeFile, path)
                #expect(outcome.status != 0, "\(path)")
            }
            // A folder that holds a vault.
            try shell("mkdir -p holds/it; cp -r .local/share/latchkey/vaults/documents holds/it/vault", in: scene.home)
            let outcome = try scene.scene.latchkey(
                "protect", "--yes", "--passcode-file", scene.scene.passcodeFile, "holds")
            #expect(outcome.status == 1 && outcome.errors.contains("it/vault: is a vault"), "\(outcome)")
        }

        /// The program is named, and nothing is done.
        @Test func aFileThatIsWrittenTo() throws {
            let scene = try ProtectScene("echo x > file; echo y > other")
            let before = try scene.listing()
            let writer = try Probe()
            try writer.open(1, scene.folder + "/file", "rw").required()
            let refused = try scene.protect()
            #expect(refused.status == 1 && refused.errors.contains("probe") && refused.errors.contains("--wait"))
            #expect(try scene.listing() == before)
            #expect(try scene.isOrdinary())
            let waiting = try scene.start("protect", ["--wait"])
            while !scene.lastErrors.contains("waiting until") {
                guard waiting.wait(seconds: 0.01) == nil else { throw HarnessError(scene.lastErrors) }
            }
            _ = try writer.close(1)
            #expect(waiting.wait(seconds: 60) == 0, "\(scene.lastErrors)")
            #expect(try scene.listing() == before)
        }

        // MARK: Interrupted

        /// An interruption in the middle, then on or back.
        @Test(arguments: [(SIGINT, true), (SIGKILL, false)]) func inTheMiddle(signal: Int32, back: Bool) throws {
            let scene = try ProtectScene(ProtectScene.everything)
            let before = try scene.listing()
            try scene.interrupt("protect", by: signal)
            #expect(Disk.exists(scene.workspace + "/record"))
            if back {
                try scene.protect("--undo").succeeded()
                #expect(try scene.isOrdinary())
            } else {
                try scene.protect().succeeded()
            }
            #expect(try scene.listing() == before)
            guard !back else { return }
            try scene.interrupt("unprotect", by: signal)
            try scene.unprotect().succeeded()
            #expect(try scene.listing() == before)
            #expect(try scene.isOrdinary())
        }

        @Test func theWayOutIsGoneBackToo() throws {
            let scene = try ProtectScene(ProtectScene.everything)
            let before = try scene.listing()
            try scene.protect().succeeded()
            try scene.interrupt("unprotect", by: SIGKILL)
            // Neither command mistakes the other's work for its own.
            #expect(try scene.protect().errors.contains("turned back"))
            try scene.unprotect("--undo").succeeded()
            try scene.scene.latchkey("open", "--passcode-file", scene.scene.passcodeFile, "documents").succeeded()
            #expect(try scene.listing() == before)
        }

        /// Killed when the vault is being put into its place, or removed: the same command ends that.
        @Test func atTheEnd() throws {
            let scene = try ProtectScene("echo x > file")
            let before = try scene.listing()
            // The system call of each step, and how often it is made before.
            for (call, count) in [("rename", 2), ("rename", 3), ("rmdir", 1)] {
                _ = try scene.kill("protect", atCall: call, count)
                let record = Disk.exists(scene.workspace + "/record")
                if mountLines(of: scene.folder).isEmpty {
                    let again = try scene.protect()
                    // Behind the last step there is nothing to go on with.
                    let isSaid = again.errors.contains("latchkey open documents")
                    #expect(again.status == 0 || isSaid, "\(call) \(count), \(record): \(again)")
                    if isSaid {
                        try scene.scene.latchkey("open", "--passcode-file", scene.scene.passcodeFile, "documents")
                            .succeeded()
                    }
                }
                #expect(try scene.listing() == before, "\(call) \(count)")
                _ = try scene.kill("unprotect", atCall: call, count)
                if try !scene.isOrdinary() { try scene.unprotect().succeeded() }
                #expect(try scene.listing() == before, "\(call) \(count)")
                #expect(try scene.isOrdinary(), "\(call) \(count)")
            }
        }

        @Test func whatWasKeptBefore() throws {
            let scene = try ProtectScene("echo x > file")
            try shell("mkdir Documents.unprotected", in: scene.home)
            let refused = try scene.protect("--keep")
            #expect(refused.status == 1 && refused.errors.contains("is there already; nothing was done"), "\(refused)")
            #expect(try scene.isOrdinary())
            // A folder of the user's that has the workspace's name.
            try shell("mkdir -m 700 .Documents.latchkey; echo mine > .Documents.latchkey/mine", in: scene.home)
            #expect(try scene.protect().errors.contains("has not put there"))
            #expect(try Disk.read(scene.workspace + "/mine") == Array("mine\n".utf8))
        }

        @Test func ofAnOrdinaryUser() throws {
            if let missing = OrdinaryUserScript.missing {
                Issue.record("NOT TESTED: a folder of an ordinary user: \(missing)")
                return
            }
            try OrdinaryUserScript.run(
                """
                mkdir -p Documents/read-only/deep Documents/a; echo 1 > Documents/read-only/1; echo 2 > Documents/a/2
                echo 3 > Documents/read-only/deep/3; chmod 400 Documents/a/2
                chmod 555 Documents/read-only/deep Documents/read-only Documents
                show() { find Documents -printf '%p %m %T@ %s\\n' | grep -v ' .* 4096$' | sort; find Documents -printf '%p %m\\n' | sort; }
                show > before
                options="--yes --passcode-file passcode"
                latchkey protect $options --kdf-memory 19 --kdf-passes 2 --recovery-key-file recovery Documents
                show > after; diff before after
                latchkey unprotect $options Documents
                show > after; diff before after
                refused latchkey protect --undo Documents
                """, user: 61_245)
        }

        /// Kills at random moments, of either command and in either direction. LATCHKEY_KILLS is their number.
        @Test func manyKills() throws {
            let kills = ProcessInfo.processInfo.environment["LATCHKEY_KILLS"].flatMap { Int($0) } ?? 6
            let scene = try ProtectScene(ProtectScene.everything)
            let before = try scene.listing()
            var random = SeededRandom(7)
            var isProtecting = true
            var done = 0
            while done < kills {
                let command = isProtecting ? "protect" : "unprotect"
                // An interrupted run is gone back from at times.
                let record = (try? Disk.read(scene.workspace + "/record")) ?? []
                // The record has texts in hexadecimal. With all files at the other side, there is no way back; with all
                // of them back, either command only ends that.
                let steps = String(decoding: record, as: UTF8.self)
                let (hasMoved, hasReturned) = (steps.contains("6d6f766564"), steps.contains("72657475726e6564"))
                let undoes = !record.isEmpty && !hasMoved && random.next() % 3 == 0
                let isBack = undoes || hasReturned
                let child = try scene.start(command, undoes ? ["--undo"] : [])
                let limit = Double(random.next() % 1500) / 1000
                guard let status = child.wait(seconds: limit) else {
                    child.send(SIGKILL)
                    child.wait()
                    done += 1
                    guard !Disk.exists(scene.workspace + "/record") else { continue }
                    // It was at its very end, or had not begun.
                    isProtecting = !Disk.exists(scene.home + "/.local/share/latchkey/vaults/documents")
                    // What it has started to mount the vault may go on.
                    if !isProtecting {
                        let passcode = scene.scene.passcodeFile
                        try until("the vault is mounted") {
                            _ = try scene.scene.latchkey("open", "--passcode-file", passcode, "documents")
                            return !mountLines(of: scene.folder).isEmpty
                        }
                    }
                    continue
                }
                #expect(status == 0, "\(command) \(isBack ? "--undo" : ""): \(scene.lastErrors)")
                if status != 0 { return }
                let isMounted = !mountLines(of: scene.folder).isEmpty
                if !isMounted, isProtecting != isBack {
                    try scene.scene.latchkey("open", "--passcode-file", scene.scene.passcodeFile, "documents")
                        .succeeded()
                }
                let now = try scene.listing()
                let (old, new) = (Set(before.split(separator: "\n")), Set(now.split(separator: "\n")))
                let (gone, come) = (old.subtracting(new).sorted().prefix(5), new.subtracting(old).sorted().prefix(5))
                #expect(now == before, "after \(done) kills, \(command): \(gone) became \(come)")
                if now != before { return }
                isProtecting = mountLines(of: scene.folder).isEmpty
            }
            print("protect: \(done) kills")
        }
    }
}
