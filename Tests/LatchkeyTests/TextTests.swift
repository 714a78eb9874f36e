import Posix
import Testing

@testable import Administration
@testable import latchkey

@Suite struct TextTests {
    @Test func tableAlignsColumnsAndLeavesTheLastOneRagged() {
        var table = Table()
        table.add("A", "complete", "x")
        table.add("long", "b", "a longer cell")
        #expect(table.lines() == "A     complete  x\nlong  b         a longer cell")
        #expect(table.lines(indent: 2) == "  A     complete  x\n  long  b         a longer cell")
    }

    @Test func hexDumpElidesRowsThatRepeatAndShowsTheLast() {
        let bytes: [UInt8] = Array("LKFILE\r\n".utf8) + [UInt8](repeating: 0, count: 59)
        #expect(
            HexDump.lines(bytes, from: 0x200) == """
                00000200  4c 4b 46 49 4c 45 0d 0a  00 00 00 00 00 00 00 00  |LKFILE..........|
                00000210  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
                *
                00000240  00 00 00                                          |...|
                """)
    }

    @Test func errorsEndWithWhatToType() {
        let error = CommandError(.locked, "cannot open a: it is locked", try: "latchkey unlock a", "latchkey status")
        #expect(
            error.description == """
                latchkey: cannot open a: it is locked
                  try: latchkey unlock a
                  try: latchkey status
                """)
        #expect(CommandError(cannot: "open", "a b", .ENOKEY).advice == ["latchkey unlock 'a b'"])
        #expect(CommandError(cannot: "open", "a", .ENOKEY).code == .locked)
    }

    @Test(arguments: [
        ("/mnt/x", "/mnt/x"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''"), ("$HOME", "'$HOME'"),
        ("a\nb\u{1b}'\\\u{202e}", "$'a\\nb\\x1b\\'\\\\\\xe2\\x80\\xae'"),
    ])
    func quotesForAShell(_ text: String, _ quoted: String) {
        #expect(text.quoted.text == quoted)
    }

    @Test func failuresEndWithLockedIfAnyWas() {
        var failures = Failures()
        failures.add(CommandError(.failed, "one"))
        failures.add(CommandError(.locked, "two"))
        failures.add(CommandError(.failed, "three"))
        #expect { try failures.end(of: 5) } throws: { ($0 as? Ended)?.code == .locked }
        #expect(throws: Never.self) { try Failures().end(of: 5) }
    }
}

@Suite struct MountTableTests {
    /// A name that ends in a carriage return, and one that begins with what is drawn over the character before it.
    @Test func noNameHidesAMount() {
        let table = """
            30 1 0:30 / /a rw shared:1 - overlay overlay rw,lowerdir=/x\r
            31 1 0:31 / /b\\012\\040\u{301} rw shared:2 - fuse.latchkey \u{301}vault rw,user_id=5,group_id=0

            """
        let mounts = MountTable(Array(table.utf8))
        #expect(mounts.entries.map(\.mountPoint) == ["/a", "/b\n \u{301}"])
        #expect(mounts.entries.map(\.isLatchkey) == [false, true])
        #expect(mounts.entries.last?.source == "\u{301}vault" && mounts.entries.last?.user == 5)
        #expect(mounts.latchkeyMount(device: 31) != nil)
    }

    /// One name to Unicode, and two folders.
    @Test func aComposedNameIsNotTheDecomposedOne() {
        let table = """
            30 1 0:30 / /e\u{301} rw - fuse.latchkey /v rw,user_id=5
            31 1 0:31 / /\u{e9} rw - fuse.latchkey /w rw,user_id=6

            """
        let mounts = MountTable(Array(table.utf8))
        #expect(mounts.mount(at: "/e\u{301}")?.user == 5 && mounts.mount(at: "/\u{e9}")?.user == 6)
        #expect(mounts.mount(holding: "/e\u{301}/x")?.user == 5 && mounts.mount(holding: "/\u{e9}/x")?.user == 6)
        #expect(!AbsolutePath(known: "/\u{e9}/x").isInside(AbsolutePath(known: "/e\u{301}")))
    }
}

@Suite struct PathTests {
    @Test(arguments: [
        ("/a/b", "/a/b", true), ("/a/b/c", "/a/b", true), ("/a/bc", "/a/b", false), ("/a", "/a/b", false),
        ("/a", "/", true),
    ])
    func liesInsideByWholeComponents(_ path: String, _ folder: String, _ isInside: Bool) {
        #expect(AbsolutePath(known: path).isInside(AbsolutePath(known: folder)) == isInside)
    }

    @Test(arguments: [("/a/../b/./c/", "/b/c"), ("/", "/"), ("/../..", "/")])
    func resolvesByText(_ typed: String, _ expected: String) {
        #expect(AbsolutePath(lexically: typed).text == expected)
    }

    @Test func keepsWhatIsMissing() throws {
        #expect(try AbsolutePath(ofPerhapsMissing: "/proc/../no such/folder/").text == "/no such/folder")
        #expect(try AbsolutePath(ofPerhapsMissing: "/").text == "/")
    }

    @Test func findsTheMountOfAPath() throws {
        let table = try MountTable()
        #expect(table.mount(at: "/proc")?.type == "proc")
        #expect(table.mount(holding: "/proc/self/status")?.mountPoint == "/proc")
        let status = try Descriptor.open(path: "/proc/self", 0).status()
        #expect(table.mount(at: "/proc")?.device == status.device)
        #expect(table.latchkeyMount(device: status.device) == nil)
    }
}

@Suite struct MountOptionsTests {
    @Test(arguments: [
        ([], ["default_permissions", "nodev", "nosuid"], false),
        (["ro,noexec"], ["default_permissions", "nodev", "noexec", "ro", "nosuid"], true),
        (["ro", "rw"], ["default_permissions", "nodev", "nosuid"], false),
        (["dev,suid"], ["default_permissions", "dev", "suid"], false),
        (
            ["allow_other,default_permissions,fsname=mine"],
            ["allow_other", "default_permissions", "nodev", "nosuid", "fsname=mine"], false
        ),
    ])
    func areWhatWasAskedAndSafeWhereNot(_ lists: [String], _ expected: [String], _ isReadOnly: Bool) throws {
        let options = try MountOptions(parsing: lists)
        #expect(options.options == expected)
        #expect(options.isReadOnly == isReadOnly)
    }

    @Test(arguments: ["bogus", "fsname=", "uid=0", "subtype=x", "RO"]) func refuseOthers(_ option: String) {
        #expect(throws: (any Error).self) { try MountOptions(parsing: [option]) }
    }
}
