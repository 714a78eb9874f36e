import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Two machines that change one vault in copies of its folder, and a program that copies what one has changed to
    /// the other one: here cp(1), which does what each test is about. `tools/sync-rounds --apart` lets Syncthing do it.
    @Suite struct Synchronised {
        /// A machine: a copy of the vault in a folder of its own, and an identity.
        final class Machine {
            let vault: Vault
            let identity: String
            private let folder: TemporaryFolder

            /// - Parameter options: of init, for a vault that is no copy.
            init(
                _ number: Int, copying other: Vault? = nil, _ options: [String] = ["--synchronised", "yes"]
            ) throws {
                folder = try TemporaryFolder()
                identity = try folder.write(String(repeating: "\(number)", count: 32) + "\n", to: "machine-id")
                if let other {
                    let path = folder.path("vault")
                    try run("cp", ["-a", other.path, path])
                    vault = try Vault(at: path, passcode: Vault.passcode)
                    // Its own memory of how new the files were.
                    let states = [other, vault].map { $0.folder.path("state/latchkey") }
                    try shell("mkdir -m 700 '\(states[1])'; cp -a '\(states[0])'/*.key '\(states[1])'")
                } else {
                    vault = try Vault(options)
                }
            }

            /// Programs that begin in this namespace meanwhile find this machine's identity.
            func being<Result>(_ body: () throws -> Result) throws -> Result {
                try run("mount", ["--bind", identity, "/etc/machine-id"])
                defer { _ = try? attempt("umount", ["/etc/machine-id"]) }
                return try body()
            }

            /// Mounts as this machine.
            func work(_ body: (MountedVault) throws -> Void) throws { try being { try withMount(vault, body) } }

            func work(_ script: String) throws { try work { try shell(script, in: $0.path) } }

            /// What is in the mount: the paths of all files, with their contents.
            func files() throws -> [String] {
                var text = ""
                try work { mount in
                    text = try shell("find . -type f -printf '%P ' -exec cat {} ';' -printf '\\n'", in: mount.path).text
                }
                return text.split(separator: "\n").map(String.init).sorted()
            }

            /// What is older than this machine has seen.
            func older() throws -> [String] {
                let words = ["fsck", "--freshness", vault.path, "--passcode-file", vault.passcodeFile]
                return try being { try vault.latchkey(words) }.text.split(separator: "\n").map(String.init).filter {
                    $0.contains(" saw ") || $0.contains("is back")
                }
            }

            func fsckIsClean(sourceLocation: SourceLocation = #_sourceLocation) throws {
                let found = try being {
                    try vault.latchkey(["fsck", vault.path, "--passcode-file", vault.passcodeFile])
                }
                #expect(found.status == 0, "\(found)", sourceLocation: sourceLocation)
            }
        }

        static let canBind: Bool = {
            guard geteuid() == 0, let folder = try? TemporaryFolder(), let file = try? folder.write("x", to: "id"),
                (try? run("mount", ["--bind", file, "/etc/machine-id"])) != nil
            else { return false }
            return (try? run("umount", ["/etc/machine-id"])) != nil
        }()
        static let why: Comment = "needs root, to give machines an identity"

        /// Brings what only `source` has changed since `base`, file by file, as such programs do: what one has removed
        /// goes unless the other one has changed it, and of what both have changed the second one is put aside.
        func meet(_ one: Machine, _ two: Machine, base: String) throws {
            let script = """
                tree() { (cd "$1" && find . -name lk.claims -prune -o -type f -printf '%P\\n' | sort); }
                changed() { ! cmp -s "$1/$3" "$2/$3"; }
                sort -u <(tree "$1") <(tree "$2") <(tree "$3") > "$4"
                while IFS= read -r file; do
                    mkdir -p "$(dirname "$1/$file")" "$(dirname "$2/$file")"
                    if changed "$3" "$1" "$file" && changed "$3" "$2" "$file"; then
                        if [ -e "$1/$file" ] && [ -e "$2/$file" ] && ! cmp -s "$1/$file" "$2/$file"; then
                            aside=$file.sync-conflict-20261124-101112-ABCDEFG
                            cp -a "$2/$file" "$2/$aside"; cp -a "$2/$file" "$1/$aside"; cp -a "$1/$file" "$2/$file"
                        elif [ -e "$1/$file" ]; then cp -a "$1/$file" "$2/$file"
                        elif [ -e "$2/$file" ]; then cp -a "$2/$file" "$1/$file"
                        fi
                    elif changed "$3" "$1" "$file"; then
                        if [ -e "$1/$file" ]; then cp -a "$1/$file" "$2/$file"; else rm "$2/$file"; fi
                    elif changed "$3" "$2" "$file"; then
                        if [ -e "$2/$file" ]; then cp -a "$2/$file" "$1/$file"; else rm "$1/$file"; fi
                    fi
                done < "$4"
                for folder in "$1" "$2"; do find "$folder" -mindepth 1 -type d -empty -delete; done
                """
            try run("bash", ["-euc", script, "bash", one.vault.path, two.vault.path, base, base + ".list"])
        }

        private func pair(_ script: String) throws -> (Machine, Machine, String) {
            let one = try Machine(1)
            try one.work(script)
            let two = try Machine(2, copying: one.vault)
            let base = one.vault.folder.path("base")
            try run("cp", ["-a", one.vault.path, base])
            return (one, two, base)
        }

        /// The same folder, made on both: all files of both are in it.
        @Test(.enabled(if: canBind, why)) func theSameFolder() throws {
            let (one, two, base) = try pair("echo before > old")
            try one.work("mkdir -p d/inner; echo 1 > d/first; echo 1 > d/both; echo 1 > d/inner/first")
            try two.work("mkdir -p d/inner; echo 2 > d/second; echo 22 > d/both; echo 2 > d/inner/second")
            try meet(one, two, base: base)
            let day = try shell("date -u +%F").text.dropLast()
            let expected = [
                "d/both 1", "d/both (conflict of DAY) 22", "d/first 1", "d/inner/first 1", "d/inner/second 2",
                "d/second 2", "old before",
            ].map { $0.replacingOccurrences(of: "DAY", with: day) }.sorted()
            #expect(try one.files() == expected)
            #expect(try two.files() == expected)
            try one.fsckIsClean()
            try two.fsckIsClean()
        }

        /// One machine removes or renames a folder, in which the other one changes a file.
        @Test(.enabled(if: canBind, why), arguments: ["rm -r d", "mv d e"], ["short", "long"])
        func aFolderThatIsGone(script: String, kind: String) throws {
            let long = String(repeating: "n", count: 230)
            let name = kind == "long" ? long : "file"
            let (one, two, base) = try pair("mkdir -p d/\(name); echo 1 > d/\(name)/\(name); echo 1 > d/other")
            try one.work(script)
            try two.work("echo 2 >> d/\(name)/\(name); echo 3 > d/\(name)/new")
            try meet(one, two, base: base)
            for machine in [one, two, one] {
                let files = try machine.files()
                #expect(files.contains("d/\(name)/new 3"), "\(files)")
                let older = try machine.older()
                #expect(older.isEmpty, "\(older)")
                #expect(files.contains("2") && files.contains("d/\(name)/\(name) 1"), "\(files)")
                if script == "mv d e" { #expect(files.contains("e/other 1"), "\(files)") }
            }
            try one.fsckIsClean()
            try two.fsckIsClean()
        }

        @Test(.enabled(if: canBind, why), arguments: [1, 2, 3]) func aFolderInOnesThatAreGone(depth: Int) throws {
            let folder = ["d", "e", "f"].prefix(depth).joined(separator: "/")
            let (one, two, base) = try pair("mkdir -p \(folder); echo 1 > \(folder)/file; echo 1 > \(folder)/other")
            try two.work("rm -r d")
            try one.work("echo 2 > \(folder)/new; echo 2 >> \(folder)/other")
            try meet(one, two, base: base)
            for machine in [one, two, one, two] {
                let files = try machine.files()
                #expect(files == ["2", "\(folder)/new 2", "\(folder)/other 1"], "\(files)")
                let older = try machine.older()
                #expect(older.isEmpty, "\(older)")
            }
        }

        /// Both machines rename a folder: there are two with what it had, and neither makes the other one look older.
        @Test(.enabled(if: canBind, why)) func aFolderWithTwoNewNames() throws {
            let (one, two, base) = try pair("mkdir -p d/in; echo 1 > d/in/file; echo 1 > d/file")
            try one.work("mv d e; echo 2 > e/file; echo 2 > e/in/file")
            try two.work("mv d f")
            try meet(one, two, base: base)
            for machine in [one, two] {
                try machine.work("chmod 600 f/in/file; echo 3 > f/file")
                let files = try machine.files()
                #expect(files == ["e/file 2", "e/in/file 2", "f/file 3", "f/in/file 1"], "\(files)")
                let older = try machine.older()
                #expect(older.isEmpty, "\(older)")
            }
            try one.fsckIsClean()
            try two.fsckIsClean()
        }

        /// What both have changed is not called older, whichever of the two gets the name; what is older is.
        @Test(.enabled(if: canBind, why), arguments: [true, false]) func noFalseAlarm(secondWritesMore: Bool) throws {
            let (one, two, base) = try pair("echo 1 > file; echo 1 > gone")
            let often = "for n in $(seq 20); do echo $n > file; done"
            try one.work((secondWritesMore ? "echo one > file" : often) + "; rm gone")
            try two.work((secondWritesMore ? often : "echo two > file") + "; chmod 600 gone")
            let kept = two.vault.folder.path("kept")
            try run("cp", ["-a", two.vault.path, kept])
            try meet(one, two, base: base)
            for machine in [one, two, one] {
                #expect(try machine.files().contains("gone 1"))
                #expect(try machine.older().isEmpty)
            }
            // Two puts back what it had itself before the two met.
            try two.work("echo 3 > file")
            try shell("find '\(kept)' -maxdepth 1 -type f ! -name 'lk.*' -exec cp -a {} '\(two.vault.path)' ';'")
            #expect(try two.older().contains { $0.contains("file") })
        }

        /// Synchronisation programs leave a folder behind, now and then, or make it before they bring what is in it.
        @Test(arguments: [false, true]) func shells(isArriving: Bool) throws {
            let vault = try Vault(["--synchronised", "yes"])
            let long = String(repeating: "long ", count: 50)
            try withMount(vault) { try shell("mkdir -p there '\(long)/in'; echo x > there/file", in: $0.path) }
            let folder = try shell("find '\(vault.path)' -name 'lk.long.*' -type d").text.dropLast()
            let (kept, temporary) = (vault.folder.path("kept"), "\(folder)/.syncthing.file.tmp")
            try shell("cp -a '\(folder)' '\(kept)'; find '\(folder)' -type f -delete")
            if isArriving { try shell("touch '\(temporary)'") }
            try withMount(vault) { mount in
                let listing = try shell("ls -A", in: mount.path)
                #expect(listing.text == "there\n")
                let status = try attempt("stat", [mount.path + "/" + long])
                #expect(status.status == 1)
                let made = try attempt("mkdir", [mount.path + "/" + long])
                #expect(made.status == (isArriving ? 1 : 0))
            }
            if isArriving { try shell("cp -a '\(kept)'/. '\(folder)'; rm '\(temporary)'") }
            try withMount(vault) { mount in
                let listing = try shell("ls -A | wc -l; echo y > '\(long)/y'", in: mount.path)
                #expect(listing.text == "2\n")
            }
            try vault.latchkey(["fsck", vault.path, "--passcode-file", vault.passcodeFile]).succeeded()
        }

        /// One machine removes a folder, in which the other one changes a file. Then the first one puts back the
        /// sidecars of that file and its folder, while the second one moves or removes both: only sidecars are left.
        @Test(.enabled(if: canBind, why), arguments: ["true", "mv d/n* e", "rm -r d"])
        func sidecarsWithoutEntries(script: String) throws {
            let long = String(repeating: "n", count: 230)
            let (one, two, base) = try pair("mkdir -p d/\(long); echo 1 > d/\(long)/\(long)")
            try one.work("rm -r d")
            try two.work("echo 2 >> d/\(long)/\(long)")
            try meet(one, two, base: base)
            let later = one.vault.folder.path("later")
            try run("cp", ["-a", one.vault.path, later])
            try two.work(script)
            #expect(try one.files() == ["2", "d/\(long)/\(long) 1"])
            try meet(one, two, base: later)
            let sidecars = "for f in $(find . -name 'lk.long.*.name'); do [ -e ${f%.name} ] || echo $f; done"
            #expect(try !shell(sidecars, in: one.vault.path).text.isEmpty)
            for machine in [one, two] {
                let words = ["fsck", machine.vault.path, "--passcode-file", machine.vault.passcodeFile]
                let found = try machine.being { try machine.vault.latchkey(words) }
                #expect(found.status == 0 && !found.text.contains("does not decrypt"), "\(found)")
                let files = try machine.files()
                switch script {
                case "true":
                    #expect(files == ["2", "d/\(long)/\(long) 1"], "\(files)")
                    #expect(try shell(sidecars, in: machine.vault.path).text.isEmpty)
                case "mv d/n* e":
                    #expect(files == ["2", "e/\(long) 1"], "\(files)")
                    try machine.work("rmdir d")
                default:
                    #expect(files.isEmpty, "\(files)")
                    try machine.work("mkdir d; rmdir d")
                }
            }
        }

        /// A version gets its name by the mount itself, and nothing else is changed; the folder above gets another name
        /// on the other machine.
        @Test(.enabled(if: canBind, why)) func aConflictInAFolderThatIsGone() throws {
            let (one, two, base) = try pair("mkdir -p d/e; echo 0 > d/e/f")
            try one.work("echo 1 >> d/e/f")
            try two.work("echo 2 >> d/e/f")
            try meet(one, two, base: base)
            let later = one.vault.folder.path("later")
            try run("cp", ["-a", one.vault.path, later])
            try one.work("true")
            try two.work("mv d g")
            try meet(one, two, base: later)
            for machine in [one, two] {
                let files = try machine.files()
                #expect(files.contains { $0.hasPrefix("d/e/") }, "\(files)")
                #expect(files.contains { $0.hasPrefix("g/e/f ") }, "\(files)")
                try machine.fsckIsClean()
            }
        }

        /// The vault stays mounted while a program brings its changes to the other machine, and then more is changed.
        @Test(.enabled(if: canBind, why), arguments: [false, true])
        func aFolderThatIsGoneMeanwhile(isOpen: Bool) throws {
            let (one, two, base) = try pair("mkdir d; echo 0 > d/f")
            let later = one.vault.folder.path("later")
            try one.work { mount in
                try shell("echo 1 >> d/f; sync d/f", in: mount.path)
                let file = try #require(FileHandle(forUpdatingAtPath: mount.path + "/d/f"))
                try meet(one, two, base: base)
                try run("cp", ["-a", one.vault.path, later])
                if isOpen {
                    try file.write(contentsOf: Data("2".utf8))
                } else {
                    try shell("echo 2 > d/g", in: mount.path)
                }
                try file.close()
            }
            try two.work("rm -r d")
            try meet(one, two, base: later)
            for machine in [one, two] {
                let files = try machine.files()
                #expect(files.contains("d/g 2") || files.contains("d/f 2"), "\(files)")
            }
        }

        /// A version that was put aside needs the record, which is missing: that is damage.
        @Test func aVersionIsNoShell() throws {
            let vault = try Vault(["--synchronised", "yes"])
            try withMount(vault) { try shell("mkdir folder; echo x > folder/file", in: $0.path) }
            let folder = try shell("find '\(vault.path)' -mindepth 1 -type d ! -name lk.claims").text.dropLast()
            try shell("rm '\(folder)'/lk.*; cd '\(folder)'; mv * \"$(ls).sync-conflict-20261124-101112-ABCDEFG\"")
            try withMount(vault) { mount in
                let listing = try shell("ls -A", in: mount.path)
                #expect(listing.text == "folder\n")
            }
            let found = try vault.latchkey(["fsck", vault.path, "--passcode-file", vault.passcodeFile])
            #expect(found.status == 6, "\(found)")
        }

        @Test func shellsAreRemoved() throws {
            let vault = try Vault(["--synchronised", "yes"])
            try withMount(vault) { try shell("mkdir -p empty/empty/empty", in: $0.path) }
            let folder = try shell("find '\(vault.path)' -mindepth 1 -maxdepth 1 -type d ! -name lk.claims").text
                .dropLast()
            try shell("find '\(folder)' -type f -delete")
            let words = ["fsck", vault.path, "--passcode-file", vault.passcodeFile]
            let found = try vault.latchkey(words).succeeded()
            #expect(found.text.contains("contents were removed, or have not arrived"), "\(found)")
            try vault.latchkey(words + ["--repair"]).succeeded()
            let left = try attempt("test", ["-e", String(folder)])
            #expect(left.status == 1)
        }

        /// Each machine has a journal of its own, and a killed daemon's is replayed by that machine.
        @Test(.enabled(if: canBind, why)) func journals() throws {
            let (one, two, _) = try pair("echo x > file")
            try two.work("echo y > file")
            let names = try shell("ls '\(one.vault.path)' '\(two.vault.path)'").text
            let journals = Set(names.split(separator: "\n").filter { $0.hasPrefix("lk.journal") })
            #expect(
                journals.count == 2 && journals.allSatisfy { $0.count == "lk.journal.0123456789abcdef".count },
                "\(names)")
        }

        /// The folder of a program that copies it makes a vault a synchronised one.
        @Test(arguments: [
            (".stfolder", true), (".dropbox", false), (".dropbox.cache", true), (".sync", false), (".sync/ID", true),
            ("._sync_1a2b.db", true), (".sync.db", false), (".seafile-data", true), ("other", false),
        ]) func marks(name: String, isMark: Bool) throws {
            let folder = try TemporaryFolder()
            try shell("mkdir -p '\(name)'", in: folder.path)
            let vault = try Vault(in: folder)
            let facts = try vault.latchkey(["info", "--json", vault.path]).succeeded()
            #expect(facts.text.contains("\"isSynchronised\" : \(isMark)"), "\(facts)")
        }

        /// A vault that is not synchronised has none of this.
        @Test func others() throws {
            let other = try Vault()
            #expect(
                try other.latchkey(["info", "--json", other.path]).succeeded().text.contains(
                    "\"isSynchronised\" : false"))
            try withMount(other) { try shell("mkdir folder; echo x > folder/file", in: $0.path) }
            #expect(try shell("find . -name 'lk.dir.*' -o -name 'lk.journal.*'", in: other.path).text.isEmpty)
        }
    }
}
