import Foundation
import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `latchkey rotate`: all files get new keys while they are in use, and at every moment one key opens each file.
    @Suite struct Rotations {
        private static let count = 120

        /// All classes, deep folders, long names, links and read-only files: each has the new keys, nothing that
        /// stat(2) shows has changed, and the old keys open none.
        @Test func allFiles() throws {
            let scene = try RotationScene(Self.count)
            try withMount(scene.vault) { mount in
                // A header waits until the second that stat(2) shows has passed; then it is written.
                try mount.dirty()
                // The first listing records in the vault that it has happened.
                _ = try scene.metadata(mount)
                let before = try scene.metadata(mount)
                let said = try scene.rotate(mount)
                #expect(said.text.contains("the old ones are gone"), "\(said)")
                #expect(try scene.progress(mount) == nil)
                let after = try scene.metadata(mount)
                let changed = zip(before, after).filter { $0 != $1 }.map { "\($0)\n\($1)" }
                #expect(before.count == after.count && changed.isEmpty, "\(changed.prefix(5))")
                #expect(try scene.wrong(mount, count: Self.count) == "")
                try mount.lockNow()
                try mount.unlock()
                #expect(try scene.wrong(mount, count: Self.count) == "")
            }
            try scene.vault.latchkey([
                "fsck", "--unlock", "--passcode-file", scene.vault.passcodeFile, scene.vault.path,
            ])
            .succeeded()
            try scene.read().succeeded()
            #expect(try scene.openedByOldKeys() == [])
            let old = try scene.read(keybag: scene.oldKeybag)
            #expect(old.status == 6, "\(old)")
            #expect(
                try scene.vault.latchkey(
                    ["slot", "test", "--recovery", "--recovery-key-file"]
                        + [scene.vault.recoveryKeyFile, scene.vault.path]
                ).status == 3)
            try scene.vault.latchkey(
                ["slot", "test", "--recovery", "--recovery-key-file", scene.recoveryKey, scene.vault.path]
            ).succeeded()
        }

        /// A program that holds an open file, a mapping, a file without a name yet, and an unlinked one keeps the use
        /// of all of them, also over a lock and an unlock.
        @Test func filesInUse() throws {
            let scene = try RotationScene(40)
            try withMount(scene.vault) { mount in
                let holder = try Probe(
                    "/usr/bin/env", ["python3", "-u", "-c", Self.holder, mount.path], environment: Environment.plain)
                try holder.ask("begin").required("opening files")
                try scene.rotate(mount).succeeded()
                try holder.ask("check").required("after the rotation")
                try mount.lockNow()
                try mount.unlock()
                try holder.ask("check").required("after an unlock")
                try holder.ask("end").required("giving a name")
                #expect(try shell("cat A/named D/named", in: mount.path).text == "no name Ano name D")
            }
            try withMount(scene.vault) { mount in
                let (named, opened) = (try scene.read(mount, "A/named"), try scene.read(mount, "C/open"))
                #expect(named == "no name A" && opened == "open Cmore")
            }
        }

        private static let holder = """
            import ctypes, mmap, os, sys
            top, held = sys.argv[1], {}
            def begin():
                for each in "ABCD":
                    path = os.path.join(top, each)
                    def make(name):
                        file = open(os.path.join(path, name), "w+b", buffering=0)
                        file.write((name + " " + each).encode())
                        return file
                    nameless = os.fdopen(os.open(path, os.O_TMPFILE | os.O_RDWR, 0o600), "r+b", buffering=0)
                    nameless.write(("no name " + each).encode())
                    gone = make("gone")
                    os.unlink(os.path.join(path, "gone"))
                    mapped = make("mapped")
                    held[each] = (make("open"), gone, nameless, mmap.mmap(mapped.fileno(), 0))
            def check():
                for each, (opened, gone, nameless, mapped) in held.items():
                    for file, name in ((opened, "open"), (gone, "gone"), (nameless, "no name")):
                        wanted = (name + " " + each).encode()
                        assert os.pread(file.fileno(), 100, 0)[:len(wanted)] == wanted, (name, each)
                    assert mapped[:] == ("mapped " + each).encode(), each
            def end():
                for each, (opened, gone, nameless, mapped) in held.items():
                    opened.seek(0, 2)
                    opened.write(b"more")
                    # os.link does not follow: linkat(2) with AT_SYMLINK_FOLLOW.
                    old, new = "/proc/self/fd/%d" % nameless.fileno(), os.path.join(top, each, "named")
                    assert ctypes.CDLL(None).linkat(-100, old.encode(), -100, new.encode(), 0x400) == 0
            for line in sys.stdin:
                try:
                    {"begin": begin, "check": check, "end": end}[line.strip()]()
                    print("ok", flush=True)
                except Exception as error: print("error", repr(error).replace(" ", "_"), flush=True)
            """

        /// Other programs rename, link, create, remove and reclassify files and folders meanwhile: none is missed.
        @Test(arguments: [1]) func whatMoves(seed: Int) throws {
            let scene = try RotationScene(Self.count)
            try withMount(scene.vault) { mount in
                let mover = try Probe(
                    "/usr/bin/env", ["python3", "-u", "-c", Self.mover, mount.path, "\(seed)"],
                    environment: Environment.plain)
                try mover.ask("prepare", within: 60).required("making folders")
                try mover.send(["begin"])
                try scene.rotate(mount, []).succeeded()
                // It must end although the vault is never idle.
                try scene.finish(mount)
                try mover.send(["end"])
                try mover.answer(within: 60).required("moving")
                try mover.ask("check", within: 60).required("what has moved")
                #expect(try scene.wrong(mount, count: Self.count) == "")
                try mount.lockNow()
                try mount.unlock()
                try mover.ask("check", within: 60).required("what has moved, after an unlock")
                try mount.untilNothingIsOpen()
            }
            #expect(try scene.openedByOldKeys() == [])
            #expect(try scene.vault.fsck().clean)
        }

        private static let mover = """
            import os, random, select, sys
            top, chance = sys.argv[1], random.Random(int(sys.argv[2]))
            folders, files, made = [], {}, 0
            names = ["complete", "complete-unless-open", "complete-until-first-user-authentication", "none"]
            def make(folder):
                global made
                made += 1
                path = os.path.join(folder, "file%d" % made)
                with open(path, "w") as file: file.write("contents %d" % made)
                files[path] = "contents %d" % made
            def prepare():
                for each in "ABCD":
                    for number in range(6):
                        folders.append(os.path.join(top, each, "moving%d" % number))
                        os.mkdir(folders[-1])
                        for _ in range(40): make(folders[-1])
            def moved(old, new):
                for path in [path for path in files if path.startswith(old + "/")]:
                    files[new + path[len(old):]] = files.pop(path)
            def act():
                global made
                made += 1
                kind = chance.randrange(10)
                path, folder = chance.choice(list(files)), chance.randrange(len(folders))
                if kind < 4:
                    new = os.path.join(folders[folder], "moved%d" % made)
                    os.rename(path, new)
                    files[new] = files.pop(path)
                elif kind == 4:
                    other = chance.choice(list(files))
                    if other != path:
                        os.rename(path, other)
                        files[other] = files.pop(path)
                elif kind == 5:
                    new = os.path.join(folders[folder], "link%d" % made)
                    os.link(path, new)
                    files[new] = files[path]
                elif kind == 6:
                    make(folders[folder])
                elif kind == 7:
                    os.setxattr(path, "user.latchkey.class", chance.choice(names).encode())
                elif kind == 8 and len(files) > 500:
                    os.unlink(path)
                    del files[path]
                elif kind == 9:
                    old = folders[folder]
                    new = os.path.join(top, chance.choice("ABCD"), "moving-%d" % made)
                    os.rename(old, new)
                    folders[folder] = new
                    moved(old, new)
            def begin():
                while not select.select([sys.stdin], [], [], 0)[0]: act()
            def check():
                for path, wanted in files.items():
                    with open(path) as file: assert file.read() == wanted, path
            while True:
                line = sys.stdin.readline().strip()
                if not line: break
                try:
                    if line != "end": {"prepare": prepare, "begin": begin, "check": check}[line]()
                    if line != "begin": print("ok", flush=True)
                except Exception as error: print("error", repr(error).replace(" ", "_"), flush=True)
            """

        /// The daemon is killed at the beginning, in the middle and near the end: each time all files are there, and in
        /// the end all have the new keys.
        @Test func killedAndGoesOn() throws {
            let scene = try RotationScene(Self.count)
            var begun = false
            for renewed in [0, 1, 150, 300, 40, 500] {
                let mount = try MountedVault(scene.vault, unlocked: begun)
                if !begun {
                    try mount.unlock()
                    try scene.rotate(mount, []).succeeded()
                    begun = true
                }
                try scene.waitUntilRenewed(renewed, mount)
                mount.kill()
                mount.detach()
            }
            // Files that need no unlock open before the first one, with the old keys or the new.
            try withMount(scene.vault, unlocked: false) { mount in
                let found = try shell("cat D/several D/d*/f*[1-9] > /dev/null && echo read", in: mount.path)
                #expect(found.text == "read\n")
                try mount.unlock()
                #expect(try scene.wrong(mount, count: Self.count) == "")
                try scene.finish(mount)
                #expect(try scene.wrong(mount, count: Self.count) == "")
            }
            #expect(try scene.vault.fsck().clean)
            #expect(try scene.openedByOldKeys() == [])
        }

        /// A lock in the middle stops it, and takes no longer than usual; the unlock continues it. Class B files that
        /// are made meanwhile have the new keys.
        @Test func lockedInTheMiddle() throws {
            let scene = try RotationScene(250)
            try withMount(scene.vault) { mount in
                try scene.rotate(mount, []).succeeded()
                try scene.waitUntilRenewed(20, mount)
                try mount.lockNow()
                let locked = try #require(try scene.progress(mount))
                #expect(locked.phase == "waiting" && locked.failed == 0)
                #expect(try #require(try mount.status().lastLockDuration) < 1)
                try shell("cat C/several D/several > /dev/null; echo made > B/made", in: mount.path).succeeded()
                #expect(try shell("cat A/several 2> /dev/null || echo refused", in: mount.path).text == "refused\n")
                #expect(try scene.progress(mount)?.renewed == locked.renewed)
                try mount.unlock()
                try scene.finish(mount)
                #expect(try shell("cat B/made && rm B/made", in: mount.path).text == "made\n")
                #expect(try scene.wrong(mount, count: 250) == "")
            }
            #expect(try scene.openedByOldKeys() == [])
        }
    }
}

extension MountedVault {
    /// Returns when no write is pending any more.
    fileprivate func dirty() throws { try run("sync", ["-f", path]).succeeded() }
}

extension RotationScene {
    fileprivate func read(_ mount: MountedVault, _ name: String) throws -> String {
        try run("cat", [mount.file(name)]).succeeded().text
    }
}
