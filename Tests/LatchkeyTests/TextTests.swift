import Testing

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
