import TOML
import Testing

/// Accepted text means the same as in TOML; everything else is refused, with its line.
@Suite struct TOMLTests {
    private func refusal(_ text: String) -> TOMLError? {
        do throws(TOMLError) { _ = try TOMLReader.entries(in: text) } catch { return error }
        return nil
    }

    @Test(
        arguments: [
            ("a = 1", .integer(1)), ("a=1", .integer(1)), ("\ta\t=\t1\t", .integer(1)), ("a = 1 # one", .integer(1)),
            ("a = 0", .integer(0)), ("a = -0", .integer(0)), ("a = +5", .integer(5)), ("a = -17", .integer(-17)),
            ("a = 86_400", .integer(86_400)), ("a = 9223372036854775807", .integer(.max)),
            ("a = true", .boolean(true)), ("a = false", .boolean(false)),
            (#"a = """#, .string("")), ("a = ''", .string("")), (#"a = "b # c""#, .string("b # c")),
            (#"a = 'b\n"c"'"#, .string(#"b\n"c""#)), (#"a = "it's é 😀""#, .string("it's é 😀")),
            ("a = []", .strings([])), (#"a = ["b"]"#, .strings(["b"])), (#"a=["b",'c']"#, .strings(["b", "c"])),
            (#"a = [ "b" , ]"#, .strings(["b"])),
            ("a = [ # none yet\n\n  \"b\", # first\r\n\t'c'\n , ] # end", .strings(["b", "c"])),
        ] as [(String, TOMLValue)]) func values(text: String, value: TOMLValue) throws
    {
        #expect(try TOMLReader.entries(in: text) == [TOMLEntry(key: "a", line: 1, value: value)])
        #expect(try TOMLReader.entries(in: "\(text)\n").map(\.value) == [value])
    }

    @Test func nothing() throws {
        for text in ["", "\n", " \t", "# a comment", "#\n#é\t#\n\n", "\r\n"] {
            #expect(try TOMLReader.entries(in: text).isEmpty, "\(text)")
        }
    }

    @Test(arguments: ["\n", "\r\n"]) func lines(end: String) throws {
        let text = ["# first", "", "one = 1", "  # [table]", "two = [", " 'a',", "", " ]", " ", "TH-ree_3 = 'x'"]
        let entries = try TOMLReader.entries(in: text.joined(separator: end))
        #expect(entries.map(\.key) == ["one", "two", "TH-ree_3"])
        #expect(entries.map(\.line) == [3, 5, 10])
    }

    @Test(arguments: [
        "[a]", "[[a]]", "a.b = 1", "\"a\" = 1", "'a' = 1", "= 1", "é = 1", "a", "a 1", "a b = 1", "a = ", "a =\n1",
        "a = 01", "a = 1.5", "a = 1e3", "a = 0x10", "a = 0o7", "a = 0b1", "a = 1__0", "a = _1", "a = 1_", "a = +-1",
        "a = 9223372036854775808", "a = inf", "a = nan", "a = True", "a = yes", "a = b", "a = 2026-01-02",
        "a = 10:00:00",
        "a = {}", "a = { b = 1 }", "a = [1]", "a = [true]", "a = [[]]", "a = [,]", "a = ['b' 'c']", "a = ['b',,]",
        "a = ['b'", "a = [", "a = \"b", "a = 'b", "a = \"b'", "a = \"b\nc\"", "a = 'b\nc'",
        #"a = "b\n""#, #"a = "b\\c""#, #"a = """b""""#, "a = '''b'''", "a = 'b' 'c'", "a = 1 b = 2", "a = 1, b = 2",
        "a = '\u{0}'", "a = '\u{7f}'", "a = \"\u{1b}\"", "# \u{0}", "# \u{8}", "#\r", "\r", "a = 1\r", "a = 1 \rb = 2",
        "\u{feff}a = 1",
        "a = 1\u{c}", "\u{a0}a = 1",
    ]) func isRefused(text: String) {
        #expect(refusal(text) != nil)
        #expect(refusal("x = 1\n# y\n\(text)").map { $0.line >= 3 } == true)
    }

    @Test(
        arguments: [
            ("a = 1\na = 1", 2), ("a = 1\n\n# x\nb = 2\na = 'x'", 5), ("\n\n[t]\n", 3), ("a = 1\nb = \nc = 3", 2),
            ("a = [\n 'x',\n y,\n]", 3), ("a = [\n 'x'\n\nb = 2", 4), ("a = 'x\nb = 1", 1), ("a = 1\r\n\r\nb\r\n", 3),
            ("# é\n# \u{1}", 2),
        ] as [(String, Int)]) func lineOfRefusal(text: String, line: Int)
    {
        #expect(refusal(text)?.line == line)
    }

    // MARK: - Tables

    private func tableRefusal(_ text: String) -> TOMLError? {
        do throws(TOMLError) { _ = try TOMLReader.document(in: text) } catch { return error }
        return nil
    }

    @Test func tables() throws {
        let document = try TOMLReader.document(
            in: "x = 1\n\n[a] # first\ny = 'b'\nx = 2\n\t[ a . \"c d\" ]\n[a.'e.f'.g]\r\nz = []\n")
        #expect(document.entries == [TOMLEntry(key: "x", line: 1, value: .integer(1))])
        #expect(document.tables.map(\.name) == [["a"], ["a", "c d"], ["a", "e.f", "g"]])
        #expect(document.tables.map(\.line) == [3, 6, 7])
        #expect(document.tables.map { $0.entries.map(\.key) } == [["y", "x"], [], ["z"]])
        #expect(try TOMLReader.document(in: "[a]") == TOMLReader.document(in: "[ 'a' ]\n"))
    }

    @Test(
        arguments: [
            ("[a]\n\n[a]", 3), ("[a.b]\n[a]\n[\"a\".b]", 3), ("a = 1\n[a]", 2), ("a = 1\n[a.b]", 2),
            ("[a]\nb = 1\n[a.b.c]", 3), ("[a.b]\n[a]\nb = 1", 3), ("[a]\nb = 1\nb = 2", 3), ("[[a]]", 1),
            ("[]", 1), ("[a", 1), ("[a.]", 1), ("[.a]", 1), ("[a b]", 1), ("[a] b = 1", 1), ("[a\n]", 1),
            ("[\"a]", 1), ("[é]", 1), ("[a]\nb = 1\n[c]\nb.c = 1", 4), ("[a] []", 1),
        ] as [(String, Int)]) func refusedTables(text: String, line: Int)
    {
        #expect(tableRefusal(text)?.line == line)
    }

    @Test func theSameKeyInTwoTables() {
        #expect(tableRefusal("a = 1\n[t]\na = 1\n[u]\na = 1\nt = 2") == nil)
        #expect(tableRefusal("[t]\n[u]\n[t]")?.problem == "the table t is there already, in line 1")
    }

    @Test func aKeyOnlyOnce() {
        #expect(refusal("a = 1\nb = 2\na = 3")?.problem == "a is there already, in line 1")
    }
}
