/// Reads the subset of TOML that a policy needs: bare keys with strings, integers, booleans and arrays of strings.
///
/// Everything else is an error with its line: tables, dotted and quoted keys, escapes, multi-line strings, dates,
/// numbers that are not decimal. Accepted text has the same meaning as in TOML.
///
/// Source: TOML 1.0.0, toml.io.
struct TOMLReader {
    private let text: [UInt8]
    private var position = 0
    private var line = 1

    private init(_ text: String) { self.text = Array(text.utf8) }

    /// All entries in their order; a repeated key is an error.
    static func entries(in text: String) throws(TOMLError) -> [TOMLEntry] {
        var reader = TOMLReader(text)
        var entries: [TOMLEntry] = []
        while let entry = try reader.entry() {
            if let first = entries.first(where: { $0.key == entry.key }) {
                throw TOMLError(line: entry.line, problem: "\(entry.key) is there already, in line \(first.line)")
            }
            entries.append(entry)
        }
        return entries
    }

    private mutating func entry() throws(TOMLError) -> TOMLEntry? {
        while try skipEndOfLine() {}
        guard let next else { return nil }
        if next == UInt8(ascii: "[") { throw error("a policy has no tables") }
        let start = line
        let key = take { $0.isLetterOrDigit || "_-".utf8.contains($0) }
        guard !key.isEmpty else { throw error("here should be the name of a rule, without quotes") }
        skipBlanks()
        guard skip("=") else { throw error("after \(key) there should be =") }
        skipBlanks()
        let value = try value()
        guard try skipEndOfLine() || self.next == nil else { throw error("something follows the value of \(key)") }
        return TOMLEntry(key: key, line: start, value: value)
    }

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

extension UInt8 {
    fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
    fileprivate var isLetterOrDigit: Bool { isDigit || UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
    /// Whether the byte of UTF-8 may occur in a string or a comment.
    fileprivate var isText: Bool { self >= 0x20 && self != 0x7f || self == UInt8(ascii: "\t") }
}
