import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The kernel keeps names and metadata, and hears of what other programs change in the vault's folder.
    @Suite(.enabled(if: tellsChanges)) struct ForeignChanges {
        private static let long = String(repeating: "long", count: 60)
        /// What lies in the vault, by the paths of what a program may look at.
        private static let made = """
            cd "$1"; mkdir -p a/b; echo one > a/b/file; echo two > a/other; ln -s b/file a/link; mkdir a/empty
            echo gone > a/gone; echo moved > a/moved; mkdir long; echo long > "long/$2"; echo mode > a/mode
            """
        private static let names = [
            "", "a", "a/b", "a/b/file", "a/other", "a/link", "a/empty", "a/gone", "a/moved", "long", "long/\(long)",
            "a/mode",
        ]

        private func make(in vault: Vault) throws {
            try withMount(vault) { mount in
                try run("sh", ["-euc", Self.made, "sh", mount.path, Self.long]).succeeded()
            }
        }

        /// What lstat(2) says of each name, in order; an error's name if it fails.
        private func look(at names: [String], in mount: MountedVault, within seconds: Int = 20) throws -> [String] {
            let script = """
                import errno, os, sys
                for name in sys.argv[2:]:
                    try:
                        s = os.lstat(os.path.join(sys.argv[1], name))
                        print(s.st_ino, oct(s.st_mode), s.st_nlink, s.st_size, s.st_mtime_ns)
                    except OSError as error:
                        print(errno.errorcode[error.errno])
                """
            // A program that waits for a stopped daemon can be killed.
            let limit = ["--signal=KILL", "\(seconds)", "python3", "-c", script, mount.path]
            let outcome = try attempt("timeout", limit + names).succeeded()
            return outcome.text.split(separator: "\n").map(String.init)
        }

        /// Whether lstat(2) of all names takes no request: the daemon is stopped meanwhile.
        private func isKept(_ names: [String], in mount: MountedVault) throws -> Bool {
            mount.daemon.send(SIGSTOP)
            defer { mount.daemon.send(SIGCONT) }
            return (try? look(at: names, in: mount, within: 3)) != nil
        }

        /// Looks at all names so long after the answers that the kernel would have to ask again if it had been told so.
        private func outlastASecond() { usleep(1_300_000) }

        private func until(_ condition: () throws -> Bool) throws -> Bool {
            let end = ContinuousClock.now + .seconds(20)
            while ContinuousClock.now < end {
                if try condition() { return true }
                usleep(20_000)
            }
            return false
        }

        @Test func whatIsKnownTakesNoRequest() throws {
            let vault = try Vault()
            try make(in: vault)
            try withMount(vault) { mount in
                let first = try look(at: Self.names, in: mount)
                outlastASecond()
                // The root's metadata came before its folder was watched.
                #expect(try look(at: Self.names, in: mount) == first)
                #expect(try isKept(Self.names, in: mount))
                #expect(try look(at: Self.names, in: mount) == first)
                // What this mount changes itself is seen at once, and may be kept again.
                try run("sh", ["-euc", "cd \"$1\"; rm a/gone; mv a/moved a/b/; chmod 600 a/mode", "sh", mount.path])
                    .succeeded()
                let changed = try look(at: ["a/gone", "a/moved", "a/b/moved", "a/mode"], in: mount)
                #expect(changed[0] == "ENOENT" && changed[1] == "ENOENT" && changed[3].contains("0o100600"))
            }
        }

        /// While its class is locked, the kernel asks for the metadata of a file each time.
        @Test func whatIsLockedIsAskedFor() throws {
            let vault = try Vault()
            try make(in: vault)
            try withMount(vault, unlocked: false) { mount in
                _ = try look(at: Self.names, in: mount)
                #expect(try !isKept(["a/other"], in: mount))
            }
        }

        /// A copy of the vault that was changed comes back by rsync while the vault is mounted.
        @Test(arguments: [false, true]) func whatRsyncBringsIsSeen(inPlace: Bool) throws {
            let vault = try Vault()
            try make(in: vault)
            let copy = Vault(copy: vault.folder.path("copy"), of: vault)
            try run("cp", ["-a", vault.path, copy.path]).succeeded()
            let change = """
                cd "$1"; echo longer than before > a/other; rm a/gone; mv a/moved a/b/came; mv "long/$2" "long/x$2"
                chmod 640 a/mode; mkdir -p a/new/deep; echo new > a/new/deep/file; rmdir a/empty; echo no > a/empty
                ln -sfn other a/link; mv a/b a/c
                """
            let seen =
                Self.names + ["a/b/came", "a/c", "a/c/file", "a/c/came", "long/x\(Self.long)", "a/new/deep/file"]
            var wanted: [String] = []
            try withMount(copy) { mount in
                try run("sh", ["-euc", change, "sh", mount.path, Self.long]).succeeded()
                wanted = try look(at: seen, in: mount)
            }
            try withMount(vault) { mount in
                let before = try look(at: seen, in: mount)
                outlastASecond()
                _ = try look(at: seen, in: mount)
                #expect(try isKept(Self.names, in: mount))
                let rsync = [
                    "-rlptE", "--delete", "--exclude=/lk.journal", "--exclude=/lk.lock", "--exclude=/lk.claims",
                ]
                try run("rsync", rsync + (inPlace ? ["--inplace"] : []) + [copy.path + "/", vault.path]).succeeded()
                // Inode numbers differ.
                func comparable(_ lines: [String]) -> [String] {
                    lines.map {
                        $0.split(separator: " ").dropFirst($0.first?.isNumber == true ? 1 : 0).joined(separator: " ")
                    }
                }
                let isSeen = try until { comparable(try look(at: seen, in: mount)) == comparable(wanted) }
                let now = try look(at: seen, in: mount)
                #expect(isSeen, "\(before)\n\(now)\nnot \(wanted)")
                #expect(try String(contentsOfFile: mount.file("a/other"), encoding: .utf8) == "longer than before\n")
                #expect(try FileManager.default.contentsOfDirectory(atPath: mount.file("a")).count == 6)
            }
        }

        /// A change right when the mount first looks at a folder, which is not watched before that.
        @Test func aChangeDuringTheFirstLook() throws {
            let vault = try Vault()
            let count = 400
            let script = """
                import json, os, sys, time
                root, backing, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
                folders = {os.lstat(e.path).st_ino: e.path for e in os.scandir(backing) if e.is_dir()}
                numbers = json.load(open(sys.argv[4]))
                child = [os.pipe(), os.pipe()]
                if os.fork() == 0:
                    for i in range(count):
                        os.read(child[0][0], 1)
                        end = time.perf_counter() + i % 40 * 5e-6
                        while time.perf_counter() < end: pass
                        os.close(os.open(folders[numbers[i]] + "/foreign", os.O_CREAT | os.O_WRONLY))
                        os.write(child[1][1], b"x")
                    os._exit(0)
                for i in range(count):
                    os.write(child[0][1], b"x")
                    os.lstat(f"{root}/{i}")
                    os.read(child[1][0], 1)
                os.wait()
                def old():
                    return [i for i in range(count)
                            if os.lstat(f"{root}/{i}").st_mtime_ns != os.lstat(folders[numbers[i]]).st_mtime_ns]
                end = time.monotonic() + 20
                while old():
                    assert time.monotonic() < end, f"old: {old()}"
                    time.sleep(0.1)
                """
            let numbers = vault.folder.path("numbers")
            let making = """
                import json, os, sys
                os.mkdir(sys.argv[1])
                for i in range(int(sys.argv[2])): os.mkdir(f"{sys.argv[1]}/{i}")
                names = range(int(sys.argv[2]))
                json.dump([os.lstat(f"{sys.argv[1]}/{i}").st_ino for i in names], open(sys.argv[3], "w"))
                """
            try withMount(vault) { mount in
                try run("python3", ["-c", making, mount.file("d"), "\(count)", numbers]).succeeded()
            }
            try withMount(vault) { mount in
                let backing = try mount.backingPath("d")
                try run("python3", ["-c", script, mount.file("d"), backing, "\(count)", numbers]).succeeded()
            }
        }

        /// More changes at once than the kernel's queue has room for.
        @Test(.enabled(if: geteuid() == 0)) func aFullQueueIsNoObstacle() throws {
            let limit = "/proc/sys/fs/fanotify/max_queued_events"
            let vault = try Vault()
            try make(in: vault)
            let backing = try withMount(vault) { mount in
                try ["a", "a/other", "a/gone"].map { try mount.backingPath($0) }
            }
            let before = try String(contentsOfFile: limit, encoding: .utf8)
            try Disk.write(Array("8".utf8), to: limit)
            let mount: MountedVault
            do {
                defer { try? Disk.write(Array(before.utf8), to: limit) }
                mount = try MountedVault(vault)
            }
            let first = try look(at: Self.names, in: mount)
            outlastASecond()
            _ = try look(at: Self.names, in: mount)
            #expect(try isKept(Self.names, in: mount))
            let flood = """
                for i in $(seq 100); do touch "$1/$i"; done; chmod 600 "$2"; rm "$3"
                for i in $(seq 100); do rm "$1/$i"; done
                """
            try run("sh", ["-euc", flood, "sh"] + backing).succeeded()
            let isSeen = try until {
                let now = try look(at: ["a/other", "a/gone"], in: mount)
                return now[0].contains("0o100600") && now[1] == "ENOENT"
            }
            #expect(isSeen, "\(first)")
            #expect(try look(at: ["a/b/file"], in: mount) == [first[3]])
            try mount.unmount()
        }

        /// A user who may watch two folders only, the root and `a`: what lies in others, or is moved there, is asked
        /// for as before.
        @Test(.enabled(if: geteuid() == 0)) func fewWatches() throws {
            let vault = try Vault()
            try make(in: vault)
            let backing = try withMount(vault) { mount in
                try ["a/b/file", "a/other"].map { try mount.backingPath($0) }
            }
            let script = """
                echo 2 > /proc/sys/user/max_fanotify_marks
                "$LATCHKEY" mount "$1" "$2" --unlock --passcode-file "$3"
                cd "$2"
                look() { stat -c %a a a/other a/b/file a/moved a/b/moved 2>/dev/null || true; }
                look; sleep 1.3; look
                mv a/moved a/b/moved
                look > /dev/null
                moved=$(find "$(dirname "$4")" -type f -not -path "$4")
                chmod 600 "$4" "$5" "$moved"
                # Sooner than the kernel asks again by itself.
                is_seen() { for turn in $(seq 400); do "$@" && return; sleep 0.05; done; "$@"; }
                all() { [ "$(look | grep -c 600)" = 3 ]; }
                is_seen all
                rm "$moved"
                gone() { ! stat a/b/moved 2>/dev/null; }
                is_seen gone
                cd /; "$LATCHKEY" unmount "$2"
                """
            let point = vault.folder.path("other")
            unsafe mkdir(point, 0o755)
            var environment = vault.environment
            environment["LATCHKEY"] = Built.latchkey
            let words = ["bash", "-euc", script, "bash", vault.path, point, vault.passcodeFile] + backing
            try attempt(
                "unshare", ["--user", "--map-root-user", "--mount"] + words, environment: environment, within: 60
            ).succeeded()
        }
    }
}

/// Whether the tests' folder lies in a file system that tells of changes.
private let tellsChanges: Bool = {
    let kind = (try? run("stat", ["-f", "-c", "%T", NSTemporaryDirectory()]))?.text ?? ""
    return ["ext2/ext3", "xfs", "btrfs", "f2fs", "tmpfs"].contains(kind.trimmingCharacters(in: .whitespacesAndNewlines))
}()
