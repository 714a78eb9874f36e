import Foundation
import TestSupport
import Testing

extension MountTests {
    /// Eight processes create, move, link, truncate, map, mark and remove entries in one tree without coordination
    /// (after fsstress). A race must explain each answer, and the tree must be sound in the end.
    @Suite struct SharedTree {
        private static let calls = 1000

        @Test func holdsUnderEightProcesses() throws {
            try stress(.completeUntilFirstUserAuthentication) { _ in }
        }

        /// ENOKEY is a valid answer then.
        @Test func holdsWhileItIsLockedAndUnlocked() throws {
            try stress(.complete, "locks") { mount in
                try mount.lockNow()
                try mount.unlock()
            }
        }

        /// - Parameter meanwhile: repeated while the processes run.
        private func stress(
            _ protection: ProtectionClass, _ options: String..., meanwhile: (MountedVault) throws -> Void
        ) throws {
            let seed = ProcessInfo.processInfo.environment["LATCHKEY_SEED"].flatMap { Int($0) } ?? 1
            let vault = try Vault(["--default-class", protection.rawValue])
            let before = try withMount(vault) { mount in
                let said = try (0..<8).map { _ in try StreamFile() }
                let processes = try said.indices.map { index in
                    try Child(
                        Built.stress, ["run", mount.path, "\(seed * 8 + index)", "\(Self.calls)"] + options,
                        input: said[index].descriptor, output: said[index].descriptor, errors: said[index].descriptor)
                }
                let end = ContinuousClock.now + .seconds(120)
                repeat {
                    try meanwhile(mount)
                } while processes.contains { $0.wait(seconds: 0.05) == nil } && ContinuousClock.now < end
                for (process, said) in zip(processes, said) {
                    let words = String(decoding: said.contents, as: UTF8.self).split(separator: " ")
                    #expect(process.wait(seconds: 0) == 0, "seed \(seed): \(words.joined(separator: " ").suffix(500))")
                    let done = words.count > 1 ? Int(words[1]) : nil
                    #expect(done ?? 0 > Self.calls / 2, "seed \(seed): \(words)")
                }
                try mount.untilNothingIsOpen()
                for level in ["warning", "error", "critical"] {
                    #expect(!mount.messages.contains(" \(level): "), "seed \(seed): \(mount.messages.suffix(2000))")
                }
                return try walk(mount)
            }
            let found = try vault.fsck()
            #expect(found.findings.isEmpty && found.complete && found.filesNotRead == 0, "seed \(seed): \(found)")
            #expect(found.files > 50 && found.folders > 5)
            let after = try withMount(vault) { try walk($0) }
            #expect(before == after, "seed \(seed): \(before.symmetricDifference(after).prefix(5))")
        }

        /// A line for each entry.
        private func walk(_ mount: MountedVault) throws -> Set<Substring> {
            Set(try run(Built.stress, ["walk", mount.path]).succeeded().text.split(separator: "\n"))
        }

        /// A program that has looked up a file continues with it although the name goes to another file: also open(2),
        /// between its own steps.
        @Test func whatHasLostItsNameIsThere() throws {
            try withScene { scene in
                let said = try run("python3", ["-c", Self.losing, scene.mount.path]).succeeded().text
                #expect(said == "old text\n5 0\n9 somewhere\n")
            }
        }

        private static let losing = """
            import os, sys
            os.chdir(sys.argv[1])

            def make(name, text):
                with open(name, "w") as file: file.write(text)
                return os.open(name, os.O_PATH)

            old, gone, new = make("old", "old text"), make("gone", "12345"), make("new", "new text")
            os.symlink("somewhere", "link")
            link = os.open("link", os.O_PATH | os.O_NOFOLLOW)
            os.mkfifo("pipe")
            os.rename("new", "old")
            os.rename("pipe", "link")
            os.unlink("gone")
            print(open(f"/proc/self/fd/{old}").read())
            status = os.fstat(gone)
            print(status.st_size, status.st_nlink)
            print(os.fstat(link).st_size, os.readlink("", dir_fd=link))
            """

        /// A name that is given to one file after another exists at every moment.
        @Test func aNameThatIsReplacedIsAlwaysThere() throws {
            try withScene { scene in
                let said = try run("python3", ["-c", Self.replacing, scene.mount.path]).succeeded().text
                #expect(said == "there\nthere\n")
            }
        }

        private static let replacing = """
            import os, select, sys
            os.chdir(sys.argv[1])
            os.mkdir("folder")
            for name in "name", "file": open(name, "w").close()
            end, other = os.pipe()

            def watch():
                os.close(other)
                while not select.select([end], [], [], 0)[0]:
                    os.stat("name")
                    os.close(os.open("file", os.O_RDONLY))
                print("there", flush=True)

            for _ in range(2):
                if os.fork() == 0:
                    status = 1
                    try:
                        watch()
                        status = 0
                    finally: os._exit(status)
            for _ in range(300):
                os.symlink("folder", "new"); os.rename("new", "name")
                open("new", "w").close(); os.rename("new", "name")
                os.mkfifo("new"); os.rename("new", "name")
                for _ in range(3): open("new", "w").close(); os.rename("new", "file")
            os.close(other)
            if any([os.wait()[1] for _ in range(2)]): sys.exit("a watching process failed")
            """

        /// If another process replaces, moves or exchanges a name meanwhile, a call on it finds the old file or the new
        /// one. It finds none only if the name, or the file that the call had found, was gone for a moment.
        @Test func callsOnANameThatIsReplacedFindAFile() throws {
            try withScene { scene in
                let said = try run("python3", ["-c", Self.calling, scene.mount.path]).succeeded().text
                #expect(said == "done\ndone\n")
            }
        }

        private static let calling = """
            import ctypes, errno, os, select, sys
            os.chdir(sys.argv[1])
            os.mkdir("other")
            libc = ctypes.CDLL(None, use_errno=True)

            def make(name):
                with open(name, "w") as file: file.write("text")

            def exchange(one, two):
                if libc.renameat2(-100, one.encode(), -100, two.encode(), 2) != 0:
                    raise OSError(ctypes.get_errno(), "renameat2")

            for name in "name", "swap", "gone": make(name)
            end, other = os.pipe()
            calls = [
                lambda name: os.chmod(name, 0o600), lambda name: os.chown(name, 0, 0), lambda name: os.utime(name),
                lambda name: os.truncate(name, 2), lambda name: os.setxattr(name, "user.a", b"1"),
                lambda name: os.getxattr(name, "user.a"), lambda name: os.removexattr(name, "user.a"),
                lambda name: os.listxattr(name), lambda name: os.stat(name), lambda name: os.access(name, os.R_OK),
                lambda name: os.close(os.open(name, os.O_RDWR)), lambda name: os.close(os.open(name, os.O_PATH)),
                lambda name: os.getxattr(name, "user.latchkey.class"),
            ]

            def call():
                os.close(other)
                while not select.select([end], [], [], 0)[0]:
                    for name, allowed in ("name", []), ("swap", [errno.ENOENT]), ("gone", [errno.ENOENT]):
                        for number, made in enumerate(calls):
                            try: made(name)
                            except OSError as error:
                                if error.errno not in allowed + [errno.ENODATA]:
                                    sys.exit(f"call {number} on {name}: {error}")
                print("done", flush=True)

            processes = []
            for _ in range(2):
                process = os.fork()
                if process == 0:
                    status = 1
                    try:
                        call()
                        status = 0
                    except SystemExit as problem: print(problem, file=sys.stderr, flush=True)
                    finally: os._exit(status)
                processes.append(process)
            for turn in range(250):
                make("new"); os.rename("new", "name")
                make("new"); os.link("name", f"other/{turn}"); os.rename("new", "name")
                os.rename("gone", "other/gone"); os.rename("other/gone", "gone")
                make("new"); exchange("new", "swap"); os.unlink("new")
                os.unlink("gone"); make("gone")
            os.close(other)
            if any([os.wait()[1] for _ in processes]): sys.exit("a calling process failed")
            """
    }
}
