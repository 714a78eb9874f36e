import Format
import Testing

/// Names of conflict copies, as synchronisation programs make them.
@Suite struct ConflictCopyTests {
    /// An encrypted name: 43 characters.
    private static let entry = "D6xJjPXJ-yJ1ZLleUWV66Mm4dLf2TOufRQ_abc-defg"
    private static let long = "lk.long.D6xJjPXJ-yJ1ZLleUWV66Mm4dLf2TOufRQ_abc-defg"

    @Test(
        arguments: [
            ("\(entry).sync-conflict-20261124-101112-ABCDEFG", "2026-11-24", "10.11.12", "ABCDEFG"),
            ("\(entry) (laptop-2's conflicted copy 2026-11-24)", "2026-11-24", nil, "laptop-2"),
            ("\(entry) (Ada\u{2019}s conflicted copy 2026-11-24 (1))", nil, nil, nil),
            ("\(entry) (conflicted copy 2026-11-24 101112)", "2026-11-24", "10.11.12", nil),
            ("\(entry) (conflicted copy from laptop-2 2026-11-24-10-11-12)", "2026-11-24", "10.11.12", "laptop-2"),
            ("\(entry)_conflict-20261124-101112", "2026-11-24", "10.11.12", nil),
            ("\(entry) (SFConflict ada@example.org 2026-11-24-10-11-12)", "2026-11-24", "10.11.12", nil),
            ("\(entry)-LAPTOP", nil, nil, nil), ("\(entry)~", nil, nil, nil), ("\(entry) (1)", nil, nil, nil),
            ("\(entry).Conflict", nil, nil, nil), ("\(entry) (conflict)", nil, nil, nil),
        ] as [(String, String?, String?, String?)])
    func words(name: String, day: String?, time: String?, machine: String?) throws {
        let stems = ConflictCopy.stems(of: Array(name.utf8))
        let found = try #require(stems.first { $0.stem == Array(Self.entry.utf8) }, "\(name)")
        #expect(found.stem + found.words == Array(name.utf8))
        guard day != nil else { return }
        let copy = ConflictCopy(words: found.words)
        #expect(copy.day == day && copy.time == time && copy.machine == machine, "\(copy)")
    }

    /// In the middle, where the program takes a part of the name for an extension.
    @Test(arguments: [
        ("lk.long.sync-conflict-20261124-101112-ABCDEFG.D6xJjPXJ-yJ1ZLleUWV66Mm4dLf2TOufRQ_abc-defg", long),
        ("lk.long (conflicted copy 2026-11-24 101112).D6xJjPXJ-yJ1ZLleUWV66Mm4dLf2TOufRQ_abc-defg", long),
        ("lk.sync-conflict-20261124-101112-ABCDEFG.dir", "lk.dir"),
        ("lk.sync-conflict-20261124-101112-ABCDEFG.keybag", "lk.keybag"),
        ("lk (conflicted copy 2026-11-24 101112).journal", "lk.journal"),
    ])
    func inTheMiddle(name: String, stem: String) {
        #expect(ConflictCopy.stems(of: Array(name.utf8)).first?.stem == Array(stem.utf8), "\(name)")
    }

    @Test(arguments: [
        "", ".", "x", ".syncthing.abc.tmp", "lk.tmp.abc.sync-conflict-20261124-101112-ABCDEFG", "(", ")", "()",
    ])
    func noCopies(name: String) { #expect(ConflictCopy.stems(of: Array(name.utf8)).isEmpty, "\(name)") }

    @Test func bounds() {
        for count in [1, 100, 255, 4096] {
            for byte in UInt8.min...UInt8.max {
                #expect(ConflictCopy.stems(of: Array(repeating: byte, count: count)).count <= 300)
            }
        }
    }

    @Test(arguments: [
        ("report.odt", 1, "report (conflict of 2026-11-24 on laptop-2).odt"),
        ("report.odt", 2, "report (conflict of 2026-11-24 10.11.12 on laptop-2).odt"),
        ("report.odt", 3, "report (conflict of 2026-11-24 10.11.12 on laptop-2 3).odt"),
        (".profile", 1, ".profile (conflict of 2026-11-24 on laptop-2)"),
        ("Makefile", 1, "Makefile (conflict of 2026-11-24 on laptop-2)"),
        (
            "a. a sentence that is no extension", 1,
            "a. a sentence that is no extension (conflict of 2026-11-24 on laptop-2)"
        ),
        ("a (conflict of 2026-11-20 on b 3) (conflict of 2026-11-21).c", 1, "a (conflict of 2026-11-24 on laptop-2).c"),
        ("a (conflict of 1812)", 1, "a (conflict of 1812) (conflict of 2026-11-24 on laptop-2)"),
    ])
    func shown(name: String, number: Int, shown: String) {
        let copy = ConflictCopy(words: Array(" (conflicted copy from laptop-2 2026-11-24-10-11-12)".utf8))
        #expect(String(decoding: copy.shownName(of: Array(name.utf8), number: number), as: UTF8.self) == shown)
    }

    /// A name of the greatest length keeps its extension, and no character is cut.
    @Test func longNames() throws {
        let copy = ConflictCopy(words: Array("_conflict-20261124-101112".utf8))
        for base in [String(repeating: "é", count: 125), String(repeating: "x", count: 251)] {
            let shown = copy.shownName(of: Array((base + ".odt").utf8), number: 1)
            #expect(shown.count <= 255)
            let text = try #require(String(validating: shown, as: UTF8.self))
            #expect(text.hasSuffix(" (conflict of 2026-11-24).odt"))
        }
        #expect(copy.shownName(of: Array(repeating: 0x80, count: 255), number: 1).count <= 255)
    }

    @Test(arguments: [
        "", " ", "(conflict of 2026-11-24)", " (conflict of 2026-11-24)", "a (conflict)", ")(", "a (conflict of us)",
        "a (conflict of 2026-11-24", "a(conflict of 2026-11-24)", "a conflict of 2026-11-24)",
        "a (conflict of 2026-11-24) b",
    ])
    func noVersions(name: String) { #expect(ConflictCopy.trueName(ofShown: Array(name.utf8)) == nil, "\(name)") }

    /// What a program writes cannot make a path of a name.
    @Test func hostileWords() {
        for words in ["'s", " (../../x's conflicted copy 2026-11-24)", " (\u{202e}'s conflicted copy)", "\u{0}/"] {
            let shown = ConflictCopy(words: Array(words.utf8)).shownName(of: Array("a".utf8), number: 1)
            #expect(!shown.contains(UInt8(ascii: "/")) && !shown.contains(0))
        }
    }
}
