import TestSupport
import Testing

extension MountTests {
    /// Calls that every program relies on.
    @Suite struct Everyday {
        @Test func anUnlinkedFileGoesOn() throws {
            try withScene(["--default-class", "complete"]) { scene in
                try scene.probe.open(0, scene.path("file"), "rw,creat").required()
                try scene.probe.pwrite(0, 0, [1, 2, 3]).required()
                try scene.probe.ask("unlink", scene.path("file")).required()
                #expect(try scene.probe.list(scene.mount.path).isEmpty, "no silly name is shown")
                try scene.probe.pwrite(0, 3, [4, 5]).required()
                #expect(try scene.probe.pread(0, 0, 10).bytes() == [1, 2, 3, 4, 5])
                #expect(try scene.probe.fsync(0) == .ok())
                try scene.mount.lockNow()
                #expect(try scene.probe.pread(0, 0, 10) == .noKey)
                try scene.mount.unlock()
                #expect(try scene.probe.pread(0, 0, 10).bytes() == [1, 2, 3, 4, 5])
                try scene.probe.close(0).required()
                #expect(Disk.tree(scene.mount.vault.path).filter { !$0.hasPrefix("lk.") }.isEmpty)
            }
        }

        private static let renameat2 =
            "import ctypes, os, sys; libc = ctypes.CDLL(None, use_errno=True)\n"
            + "a, b, flags = sys.argv[1:]\n"
            + "if libc.renameat2(-100, a.encode(), -100, b.encode(), int(flags)):\n"
            + "    sys.exit(os.strerror(ctypes.get_errno()))"

        /// Calls that overlay file systems and atomic replacements of folders need.
        @Test func renamesOfAllKinds() throws {
            try withScene { scene in
                try shell(
                    """
                    rename() { python3 -c '\(Self.renameat2)' "$@"; }
                    echo one > one; mkdir -p folder/inner; echo two > folder/inner/two; ln -s target link
                    rename one folder 2
                    test "$(cat folder)" = one; test "$(cat one/inner/two)" = two
                    exec 3>> one/inner/two; echo more >&3
                    rename one/inner link 2
                    test "$(readlink one/inner)" = target; test "$(cat link/two | tr '\\n' ' ')" = 'two more '
                    echo again >&3; test "$(wc -l < link/two)" = 3
                    rename folder folder 2; ln folder hard; rename folder hard 2; test "$(cat hard)" = one
                    if rename folder nothing 2; then exit 1; fi
                    if rename folder link 1; then exit 1; fi
                    rename folder new 1; test "$(cat new)" = one
                    """, in: scene.mount.path
                ).succeeded()
                // Only root makes device nodes, of which a whiteout is one.
                try shell(
                    """
                    test "$(id -u)" = 0 || exit 0
                    rename() { python3 -c '\(Self.renameat2)' "$@"; }
                    rename new elsewhere 4
                    test "$(cat elsewhere)" = one; test "$(stat -c '%F %t %T' new)" = 'character special file 0 0'
                    rm new; test "$(ls | sort | tr '\\n' ' ')" = 'elsewhere hard link one '
                    """, in: scene.mount.path
                ).succeeded()
            }
        }

        /// open(2) with O_TMPFILE, and a name for such a file by linkat(2).
        @Test func aFileWithoutAName() throws {
            let vault = try Vault()
            try withMount(vault) { mount in
                try shell(
                    #"""
                    mkdir -m 2755 folder; setfattr -n user.latchkey.class -v complete folder
                    cat > ../script.py <<'END'
                    import os, errno
                    def refused(error, call, *arguments, **more):
                        try: call(*arguments, **more)
                        except OSError as failure: assert failure.errno == error, failure
                        else: raise AssertionError("not refused")
                    here = os.open(".", os.O_RDONLY)
                    # Python calls linkat(2) with AT_SYMLINK_FOLLOW only so.
                    def link(file, name): os.link(f"/proc/self/fd/{file}", name, src_dir_fd=here, follow_symlinks=True)
                    file = os.open("folder", os.O_TMPFILE | os.O_RDWR, 0o640)
                    assert os.fstat(file).st_nlink == 0 and os.listdir("folder") == []
                    os.write(file, b"text" * 5000); os.fsync(file); os.setxattr(file, "user.one", b"1")
                    assert os.pread(file, 4, 19996) == b"text"
                    refused(errno.EEXIST, link, file, "folder")
                    link(file, "folder/name")
                    assert os.fstat(file).st_nlink == 1 and os.listdir("folder") == ["name"]
                    os.write(file, b"more"); os.fsync(file); link(file, "second")
                    assert os.stat("second").st_nlink == 2
                    os.close(file)
                    assert open("second").read() == "text" * 5000 + "more"
                    assert os.getxattr("folder/name", "user.one") == b"1"
                    assert os.getxattr("folder/name", "user.latchkey.class") == b"complete"
                    # Gone with its last descriptor.
                    other = os.open(".", os.O_TMPFILE | os.O_WRONLY); os.write(other, b"lost"); os.close(other)
                    only = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_EXCL); refused(errno.ENOENT, link, only, "only")
                    END
                    python3 ../script.py; rm ../script.py
                    """#, in: mount.path
                ).succeeded()
                #expect(try shell("ls '\(vault.path)/lk.nameless'").text.isEmpty)
            }
        }

        /// statx(2) tells the time of birth, if the backing file system records it.
        @Test func theTimeOfBirth() throws {
            try withScene { scene in
                try scene.makeFile("file", [1])
                try shell("mkdir folder; ln -s x link; mkfifo fifo", in: scene.mount.path).succeeded()
                for name in ["file", "folder", "link", "fifo"] {
                    let shown = try shell("stat -c '%W %w' '\(scene.path(name))'").succeeded().text
                    let backing = try shell("stat -c '%W %w' '\(try scene.mount.backingPath(name))'").succeeded().text
                    #expect(shown == backing, "\(name)")
                }
            }
        }

        /// Background writeback changes no ctime: git and similar programs would read each file again.
        @Test func theTimeOfChangeStays() throws {
            let vault = try Vault()
            var before = ""
            let times = "stat -c '%n %Z %.Z %.Y' one two three four | sort"
            try withMount(vault) { mount in
                try shell(
                    """
                    head -c 50000 /dev/urandom > one; cp one two; cp one three; cp one four; sync two
                    printf x | dd of=two conv=notrunc bs=1 seek=5000 status=none; sync two
                    truncate -s 100 three; chmod 600 four; ln four five; rm five
                    """, in: mount.path
                ).succeeded()
                before = try shell(times, in: mount.path).succeeded().text
                // A lock and an unmount checkpoint.
                try mount.lockNow()
                try mount.unlock()
                #expect(try shell(times, in: mount.path).succeeded().text == before)
                let reader = """
                    python3 '\(Built.project)/tools/read-vault.py' '\(vault.path)' \
                    --passcode-file '\(vault.passcodeFile)' \
                    --device-key '\(try vault.deviceKeyFile())' stat
                    """
                for name in ["one", "two", "three", "four"] {
                    try shell(
                        "\(reader) /\(name) | grep \"\\\"changed\\\": \\\"$(stat -c %.Z \(name))\\\"\"", in: mount.path
                    ).succeeded()
                }
            }
            try withMount(vault) { mount in
                let after = try shell(times, in: mount.path).succeeded().text
                #expect(after == before)
            }
        }

        /// A FIFO that is still open keeps its metadata, also when it is unlinked.
        @Test func anUnlinkedFIFOGoesOn() throws {
            try withScene { scene in
                try shell(
                    """
                    mkfifo -m 644 fifo; exec 3<>fifo; rm fifo
                    chmod 600 /proc/self/fd/3; touch -d @1000000000 /proc/self/fd/3
                    test "$(stat -L -c '%a %h %Y %F' /proc/self/fd/3)" = '600 0 1000000000 fifo'
                    echo line >&3; read line <&3; test "$line" = line
                    mkfifo -m 644 one; ln one two; rm one; chmod 600 two; touch -d @2000 two
                    test "$(stat -c '%a %h %Y' two)" = '600 1 2000'
                    """, in: scene.mount.path
                ).succeeded()
            }
        }

        /// A store into a mapping counts as data before it is written back.
        @Test func aMappingIsNoHole() throws {
            try withScene { scene in
                try scene.probe.open(0, scene.path("file"), "rw,creat").required()
                try scene.probe.ask("ftruncate", "0", "\(64 << 20)").required()
                try scene.probe.map(0, 0, 64 << 20).required()
                try scene.probe.store(0, 40 << 20, [1, 2, 3]).required()
                let reader = try Probe()
                try reader.open(0, scene.path("file")).required()
                let data = try reader.ask("lseek", "0", "\(4 << 20)", "data").number()
                #expect(data <= 40 << 20)
                try scene.probe.ask("munmap", "0").required()
                try scene.probe.close(0).required()
                // The daemon receives the close after close(2) has returned.
                let end = ContinuousClock.now + .seconds(20)
                while try reader.ask("lseek", "0", "\(4 << 20)", "data").number() <= 4 << 20 {
                    try #require(ContinuousClock.now < end, "still no hole after the close")
                }
            }
        }

        /// One of two names is removed without the mount's knowledge, as a sync program does.
        @Test func aFileIsLinkedByTheNameThatItHas() throws {
            try withScene { scene in
                try scene.makeFile("one", [1, 2, 3])
                try scene.probe.open(0, scene.path("one"), "rw").required()
                try scene.probe.ask("link", scene.path("one"), scene.path("two")).required()
                #expect(try scene.contents("two") == [1, 2, 3])
                try shell("rm -- '\(try scene.mount.backingPath("two"))'").succeeded()
                try scene.probe.ask("link", scene.path("one"), scene.path("three")).required()
                #expect(try scene.contents("three") == [1, 2, 3])
            }
        }

        @Test func appendsDoNotOverwriteEachOther() throws {
            try withScene { scene in
                try scene.probe.open(0, scene.path("file"), "w,creat,append").required()
                try scene.probe.open(1, scene.path("file"), "w,append").required()
                for number in UInt8(0)..<50 {
                    try scene.probe.ask("write", "\(number % 2)", [number].hexadecimal).required()
                }
                #expect(try scene.contents("file") == Array(0..<50))
            }
        }

        @Test func holesReadAsZeros() throws {
            let sizes = [5000, 1 << 20, 3 << 20, 40 << 20, 5 << 30]
            let vault = try Vault()
            let probe = try Probe()
            try withMount(vault) { mount in
                for (number, size) in sizes.enumerated() {
                    let path = mount.file("file-\(number)")
                    try probe.open(0, path, "rw,creat").required()
                    try probe.pwrite(0, 0, [1]).required()
                    try probe.pwrite(0, size, [2]).required()
                    #expect(try probe.pread(0, size / 2, 100).bytes() == [UInt8](repeating: 0, count: 100))
                    try probe.ask("ftruncate", "0", "\(2 * size)").required()
                    #expect(try probe.pread(0, 2 * size - 3, 10).bytes() == [0, 0, 0])
                    try probe.close(0).required()
                }
            }
            try withMount(vault) { mount in
                for (number, size) in sizes.enumerated() {
                    try probe.open(0, mount.file("file-\(number)")).required()
                    #expect(try probe.pread(0, 0, 2).bytes() == [1, 0])
                    #expect(try probe.pread(0, size - 1, 3).bytes() == [0, 2, 0])
                    #expect(try probe.size(mount.file("file-\(number)")) == 2 * size)
                    try probe.close(0).required()
                }
            }
        }

        /// More files than descriptors: the daemon holds none for a file that was only looked up.
        @Test func moreFilesThanDescriptors() throws {
            try withScene { scene in
                try shell(
                    """
                    for d in 1 2 3 4 5 6; do mkdir d$d; (cd d$d; seq 1 1500 | xargs touch); done
                    test "$(ls -lR | grep -c '^-')" = 9000; test "$(find . -type f | wc -l)" = 9000
                    ls -lR > /dev/null; rm -r d1 d2 d3; test "$(find . -type f | wc -l)" = 4500
                    """, in: scene.mount.path, within: 120
                ).succeeded()
                let descriptors = try shell("ls /proc/\(scene.mount.daemon.pid)/fd | wc -l").text
                #expect(Int(descriptors.dropLast()) ?? .max < 2500, "\(descriptors)")
            }
        }

        @Test func theUsualErrors() throws {
            try withScene { scene in
                let probe = scene.probe
                try scene.makeFile("file")
                try scene.makeFolder("folder")
                try scene.makeFile("folder/file")
                #expect(try probe.ask("rmdir", scene.path("folder")) == .refused("ENOTEMPTY"))
                #expect(try probe.ask("rmdir", scene.path("file")) == .refused("ENOTDIR"))
                #expect(try probe.ask("unlink", scene.path("folder")) == .refused("EISDIR"))
                #expect(try probe.ask("mkdir", scene.path("file"), "0755") == .refused("EEXIST"))
                #expect(try probe.open(0, scene.path("file"), "rw,creat,excl") == .refused("EEXIST"))
                #expect(try probe.open(0, scene.path("file/below")) == .refused("ENOTDIR"))
                #expect(try probe.open(0, scene.path("absent")) == .refused("ENOENT"))
                #expect(try scene.rename("folder", "folder/inside") == .refused("EINVAL"))
                #expect(try scene.rename("file", "folder") == .refused("EISDIR"))
                #expect(try scene.rename("folder", "file") == .refused("ENOTDIR"))
                try scene.makeFolder("empty")
                try scene.rename("folder", "empty").required("over an empty folder")
                #expect(try scene.contents("empty/file") == [1, 2, 3])
                try scene.makeFolder("other")
                #expect(try scene.rename("other", "empty") == .refused("ENOTEMPTY"))
                #expect(try probe.ask("link", scene.path("other"), scene.path("link")) == .refused("EPERM"))
                #expect(try probe.ask("getxattr", scene.path("file"), "user.absent") == .refused("ENODATA"))
            }
        }

        @Test func statusNumbersAreRight() throws {
            try withScene { scene in
                try scene.makeFile("file", [UInt8](repeating: 1, count: 10_000))
                try scene.makeFolder("folder")
                try scene.probe.ask("chmod", scene.path("file"), "0640").required()
                try scene.probe.ask("chown", scene.path("file"), "12", "34").required()
                try scene.probe.ask("utimens", scene.path("file"), "1234567890123456789").required()
                try scene.probe.ask("link", scene.path("file"), scene.path("folder/link")).required()
                let words = try scene.probe.ask("stat", scene.path("file")).words()
                #expect(Array(words[0..<5]) == ["100640", "10000", "2", "12", "34"])
                #expect(words[6] == "1234567890123456789")
                #expect(try scene.probe.ask("stat", scene.path("folder/link")).words() == words)
                try scene.probe.ask("symlink", "target", scene.path("symlink")).required()
                #expect(try scene.probe.ask("stat", scene.path("symlink")).words()[1] == "6", "the target's length")
                #expect(try scene.probe.ask("readlink", scene.path("symlink")).bytes() == Array("target".utf8))
                let used = try shell("stat -f -c '%S %b %c' .; df . > /dev/null", in: scene.mount.path).succeeded()
                #expect(used.text.split(separator: " ").count == 3)
            }
        }
    }
}
