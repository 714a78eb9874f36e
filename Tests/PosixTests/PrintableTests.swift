import Posix
import TestSupport
import Testing

@Suite struct PrintableTests {
    @Test(arguments: [
        ("plain name.txt", "plain name.txt"), ("", ""), ("ünïcode 名前 🙂", "ünïcode 名前 🙂"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"), ("\u{1b}]0;x\u{07}", "\\x1b]0;x\\x07"), ("\u{0}\u{7f}", "\\x00\\x7f"),
        // A Unicode control character is not a byte of that number.
        ("\u{9b}31m", "\\u009b31m"), ("\u{202e}gpj.exe", "\\u202egpj.exe"), ("\u{2066}\u{2069}", "\\u2066\\u2069"),
        ("\u{200b}\u{feff}\u{ad}", "\\u200b\\ufeff\\u00ad"), ("\u{2028}\u{2029}\u{85}", "\\u2028\\u2029\\u0085"),
        ("\u{3164}\u{34f}", "\\u3164\\u034f"), ("\u{e0001}\u{e0041}", "\\U000e0001\\U000e0041"),
        // Text that looks like an escape is not one.
        ("\\n", "\\\\n"), ("\\", "\\\\"), ("e\u{301}", "e\u{301}"), ("\r\n", "\\r\\n"),
    ])
    func namesAreEscaped(_ name: String, _ shown: String) {
        #expect(Printable(name).text == shown)
        #expect(Printable(name[...]).text == shown)
        #expect(Printable(bytes: name.utf8).text == shown)
        #expect(("<\(name)>" as Printable).text == "<\(shown)>")
    }

    @Test func bytesThatAreNotUTF8AreShownAsTheyAre() {
        #expect(Printable(bytes: [0x61, 0xff, 0x62]).text == "a\\xffb")
        #expect(Printable(bytes: [0xc3]).text == "\\xc3")
        #expect(Printable(bytes: [0xe2, 0x80, 0x61, 0xc3, 0xa9]).text == "\\xe2\\x80aé")
        // An overlong newline, a surrogate, and a byte that is U+009B in Latin-1.
        #expect(Printable(bytes: [0xc0, 0x8a]).text == "\\xc0\\x8a")
        #expect(Printable(bytes: [0xed, 0xa0, 0x80]).text == "\\xed\\xa0\\x80")
        #expect(Printable(bytes: [0x9b, 0x6d]).text == "\\x9bm")
        #expect(("\(Name(bytes: [0xff, 0x0a])!)" as Printable).text == "\\xff\\n")
        #expect(("\([0xff, 0x0a] as [UInt8])" as Printable).text == "\\xff\\n")
    }

    @Test func noTwoNamesLookTheSameForTheirEscapes() {
        let units: [[UInt8]] = [
            [0x5c], [0x6e], [0x0a], [0x78], [0x66], [0xff], [0xc2, 0x9b], [0x9b], [0x75], [0x30], [0xe2, 0x80, 0xae],
        ]
        var seen: [String: [UInt8]] = [:]
        for first in units {
            for second in units {
                for third in units {
                    let name = first + second + third
                    let shown = Printable(bytes: name).text
                    #expect(seen[shown].map { $0 == name } ?? true, "\(shown)")
                    seen[shown] = name
                }
            }
        }
    }

    @Test func aQuotedNameThatIsNotUTF8() {
        #expect(([0x63, 0x61, 0x66, 0xe9, 0x27, 0x0a, 0xc3, 0xa9] as [UInt8]).quoted.text == "$'caf\\xe9\\'\\né'")
        #expect((Array("a b".utf8)).quoted.text == "'a b'")
    }

    @Test func whatTheSourceSaysStays() {
        let inner: Printable = "a\\b\n\("c\nd")"
        #expect(inner.text == "a\\b\nc\\nd")
        #expect(("<\(inner)>" as Printable).text == "<a\\b\nc\\nd>")
        #expect([inner, "x"].joined(separator: "\n").text == "a\\b\nc\\nd\nx")
        #expect(Printable(line: "a\\nb\nc\u{202e}").text == "a\\nb\\nc\\u202e")
    }

    /// bash gives back what was quoted, whatever its locale is.
    @Test(arguments: ["C", "C.UTF-8"])
    func aQuotedNameCanBePasted(_ locale: String) throws {
        let names = [
            "a", "a b", "it's", "", "$HOME `id` \"x\"", "a\nb", "\u{1b}]0;x\u{07}'\\", "\u{202e}gpj", "\u{9b}m\\n",
            "-x",
            "~", "*", "ü\u{200b}0", "\n", "a\tb'c", "\u{e0041}f", "\\", "a\\nb", "#x", "!x",
        ]
        for name in names {
            let word = Printable(word: name).text
            #expect(word.unicodeScalars.allSatisfy { !$0.isHidden }, "\(word.debugDescription)")
            let said = try run(
                "/bin/bash", ["--norc", "-c", "printf '%s' \(word)"], environment: ["LC_ALL": locale]
            ).output
            #expect(said == Array(name.utf8), "\(word)")
        }
    }
}
