/// Reads the subset of TOML that the project's files need: bare keys with strings, integers, booleans and arrays of
/// strings, and tables.
///
/// Everything else is an error with its line: arrays of tables, dotted and quoted keys, escapes, multi-line strings,
/// dates, numbers that are not decimal. Accepted text has the same meaning as in TOML.
///
/// Source: TOML 1.0.0, toml.io.
public struct TOMLReader {
    /// How errors speak of what belongs into the file.
    public struct Words: Sendable {
        let key: String
        /// Nil if the file may have tables.
        let noTables: String?

        /// - Parameters:
        ///   - key: what a key is, as in "here should be a key".
        ///   - noTables: why a table is refused; nil if it is not.
        public init(key: String = "a key", noTables: String? = nil) {
            self.key = key
            self.noTables = noTables
        }
    }

    private let text: [UInt8]
    private let words: Words
    private var position = 0
    private var line = 1

    private init(_ text: String, _ words: Words) {
        self.text = Array(text.utf8)
        self.words = words
    }

    /// All entries of a text without tables, in their order; a repeated key is an error.
    public static func entries(
        in text: String, _ words: Words = Words(noTables: "there can be no tables")
    ) throws(TOMLError) -> [TOMLEntry] {
        try document(in: text, words).entries
    }

    /// Entries and tables in their order; a repeated key or table is an error.
    public static func document(in text: String, _ words: Words = Words()) throws(TOMLError) -> TOMLDocument {
        var reader = TOMLReader(text, words)
        var document = TOMLDocument()
        while true {
            while try reader.skipEndOfLine() {}
            if reader.next == nil { return document }
            if let table = try reader.table() {
                try document.add(table)
            } else {
                try document.add(try reader.entry())
            }
        }
    }

    /// The header of a table; nil if none comes next.
    private mutating func table() throws(TOMLError) -> TOMLTable? {
        guard skip("[") else { return nil }
        if let refusal = words.noTables { throw error(refusal) }
        let start = line
        var name: [String] = []
        repeat {
            skipBlanks()
            if let quoted = try string() {
                name.append(quoted)
            } else {
                let bare = bareKey()
                guard !bare.isEmpty else { throw error("here should be the name of a table") }
                name.append(bare)
            }
            skipBlanks()
        } while skip(".")
        guard skip("]") else { throw error("after the name of a table there should be ]") }
        guard try skipEndOfLine() || next == nil else { throw error("something follows the name of a table") }
        return TOMLTable(name: name, line: start)
    }

    private mutating func entry() throws(TOMLError) -> TOMLEntry {
        let start = line
        let key = bareKey()
        guard !key.isEmpty else { throw error("here should be \(words.key), without quotes") }
        skipBlanks()
        guard skip("=") else { throw error("after \(key) there should be =") }
        skipBlanks()
        let value = try value()
        guard try skipEndOfLine() || self.next == nil else { throw error("something follows the value of \(key)") }
        return TOMLEntry(key: key, line: start, value: value)
    }

    private mutating func bareKey() -> String { take { $0.isBareKey } }

    private mutating func value() throws(TOMLError) -> TOMLValue {
        if let text = try string() { return .string(text) }
        if skip("[") { return .strings(try restOfArray()) }
        let word = take { $0.isLetterOrDigit || "_-+.:".utf8.contains($0) }
        if word == "true" || word == "false" { return .boolean(word == "true") }
        guard let integer = Self.integer(word) else {
            throw error("here should be a whole number, text in quotes, or texts in brackets")
        }
        return .integer(integer)
    }

    /// Decimal, with an optional sign and underscores between digits; nil if it is no such number, or exceeds 64 bits.
    private static func integer(_ word: String) -> Int? {
        let sign = word.prefix { $0 == "-" || $0 == "+" }
        let groups = word.dropFirst(sign.count).split(separator: "_", omittingEmptySubsequences: false)
        let digits = groups.joined()
        guard sign.count <= 1, groups.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isDigit) }),
            digits == "0" || !digits.hasPrefix("0")
        else { return nil }
        return Int(sign + digits)
    }

    /// A string in single or double quotes; nil if no quote comes next.
    private mutating func string() throws(TOMLError) -> String? {
        guard let quote = next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
        position += 1
        let start = position
        while let byte = next, byte != quote {
            guard byte != UInt8(ascii: "\\") || quote == UInt8(ascii: "'") else {
                throw error("a backslash can stand in single quotes only")
            }
            guard byte.isText else { break }
            position += 1
        }
        guard next == quote else { throw error("a text has no end in its line, or a control character in it") }
        position += 1
        return String(decoding: text[start..<position - 1], as: UTF8.self)
    }

    private mutating func restOfArray() throws(TOMLError) -> [String] {
        var strings: [String] = []
        while true {
            while try skipEndOfLine() {}
            if skip("]") { return strings }
            guard let string = try string() else { throw error("in brackets there should be texts in quotes") }
            strings.append(string)
            while try skipEndOfLine() {}
            if skip("]") { return strings }
            guard skip(",") else { throw error("between texts in brackets there should be a comma") }
        }
    }

    // MARK: - Bytes

    private var next: UInt8? { position < text.count ? text[position] : nil }

    private func error(_ problem: String) -> TOMLError { TOMLError(line: line, problem: problem) }

    private mutating func take(while belongs: (UInt8) -> Bool) -> String {
        let start = position
        while let next, belongs(next) { position += 1 }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() { while skip(" ") || skip("\t") {} }

    /// Skips spaces and tabs, a comment, and the end of the line: LF or CR LF. False if something else follows, or the
    /// text ends.
    private mutating func skipEndOfLine() throws(TOMLError) -> Bool {
        skipBlanks()
        if skip("#") { while let next, next.isText { position += 1 } }
        let hasReturn = skip("\r")
        guard skip("\n") else {
            if hasReturn || next?.isText == false { throw error("a control character") }
            return false
        }
        line += 1
        return true
    }
}

extension TOMLDocument {
    /// Adds a table. Its name must not be that of another table, nor lead through the value of a key.
    fileprivate mutating func add(_ table: TOMLTable) throws(TOMLError) {
        let text = table.name.joined(separator: ".")
        if let first = tables.first(where: { $0.name == table.name }) {
            throw TOMLError(line: table.line, problem: "the table \(text) is there already, in line \(first.line)")
        }
        let keys = [(name: [], entries: entries)] + tables.map { (name: $0.name, entries: $0.entries) }
        for (name, entries) in keys where table.name.starts(with: name) && table.name.count > name.count {
            guard let entry = entries.first(where: { $0.key == table.name[name.count] }) else { continue }
            throw TOMLError(line: table.line, problem: "\(entry.key) is no table but a value, in line \(entry.line)")
        }
        tables.append(table)
    }

    /// Adds an entry to the last table, or before the first. Its key must not be there, nor be the name of a table.
    fileprivate mutating func add(_ entry: TOMLEntry) throws(TOMLError) {
        let siblings = tables.last?.entries ?? entries
        if let first = siblings.first(where: { $0.key == entry.key }) {
            throw TOMLError(line: entry.line, problem: "\(entry.key) is there already, in line \(first.line)")
        }
        let path = (tables.last?.name ?? []) + [entry.key]
        if let table = tables.first(where: { $0.name.starts(with: path) }) {
            throw TOMLError(line: entry.line, problem: "\(entry.key) is a table already, in line \(table.line)")
        }
        if tables.isEmpty { entries.append(entry) } else { tables[tables.count - 1].entries.append(entry) }
    }
}

extension UInt8 {
    /// Whether the byte may stand in a key without quotes.
    var isBareKey: Bool { isLetterOrDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: "-") }
    fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
    fileprivate var isLetterOrDigit: Bool { isDigit || UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
    /// Whether the byte of UTF-8 may occur in a string or a comment.
    var isText: Bool { self >= 0x20 && self != 0x7f || self == UInt8(ascii: "\t") }
}
