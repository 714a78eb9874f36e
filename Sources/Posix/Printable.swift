/// Text that is safe to show on a terminal, in a log and to people: the program's own words, with all interpolated
/// names escaped.
///
/// A name may contain any byte but "/" and NUL: escape sequences that control a terminal, a newline that forges a log
/// line, U+202E that reverses the text. So interpolated values are escaped as in C: `\n`, `\t`, `\r`, `\x1b` for other
/// ASCII control characters, `\u202e` and `\U000e0001` for control, bidirectional and invisible characters of Unicode,
/// `\xff` for bytes that are not UTF-8, and `\\` for a backslash, so that two different names never look the same.
/// `\x00` to `\x1f` and `\x7f` are ASCII controls; `\x80` and above are bytes, not characters. An interpolated
/// `Printable` is not escaped again.
///
/// All output for people goes through this type; no other code escapes.
public struct Printable: Hashable, Sendable {
    public let text: String

    /// The program's own words; nothing is escaped.
    public init(verbatim text: String) { self.text = text }

    /// A name, or other text from outside.
    public init(_ name: some StringProtocol) {
        text = name.utf8.allSatisfy(Self.isPlain) ? String(name) : Self.escaped(name.unicodeScalars)
    }

    /// A name that may not be UTF-8.
    public init(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        if bytes.allSatisfy(Self.isPlain) {
            text = String(decoding: bytes, as: UTF8.self)
        } else {
            text = Self.escaped(bytes)
        }
    }

    /// A line composed by another program: its backslashes stay, all other characters are escaped as needed.
    public init(line: String) {
        var text = ""
        for scalar in line.unicodeScalars {
            if scalar == "\\" { text += "\\" } else { Self.append(scalar, to: &text) }
        }
        self.text = text
    }

    /// ASCII that needs no escape.
    private static func isPlain(_ byte: UInt8) -> Bool { 0x20..<0x7f ~= byte && byte != UInt8(ascii: "\\") }

    private static func escaped(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var text = ""
        for scalar in scalars { append(scalar, to: &text) }
        return text
    }

    private static func escaped(_ bytes: [UInt8]) -> String {
        var text = ""
        parse(bytes) { scalar in
            append(scalar, to: &text)
        } invalid: {
            text += escaped($0)
        }
        return text
    }

    private static func escaped(_ byte: UInt8) -> String { "\\x" + hexadecimal(UInt32(byte), digits: 2) }

    /// Calls `scalar` for each UTF-8 character, and `invalid` for each byte that belongs to none.
    private static func parse(
        _ bytes: [UInt8], scalar: (Unicode.Scalar) -> Void, invalid: (UInt8) -> Void
    ) {
        var decoder = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var start = 0
        while true {
            switch decoder.parseScalar(from: &rest) {
            case .valid(let encoded):
                scalar(Unicode.UTF8.decode(encoded))
                start += encoded.count
            case .error(let length):
                bytes[start..<start + length].forEach(invalid)
                start += length
            case .emptyInput:
                return
            }
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        switch scalar {
        case "\\": text += "\\\\"
        case "\n": text += "\\n"
        case "\t": text += "\\t"
        case "\r": text += "\\r"
        case _ where !scalar.isHidden: text.unicodeScalars.append(scalar)
        case "\u{0}"..."\u{7f}": text += "\\x" + hexadecimal(scalar.value, digits: 2)
        case "\u{80}"..."\u{ffff}": text += "\\u" + hexadecimal(scalar.value, digits: 4)
        default: text += "\\U" + hexadecimal(scalar.value, digits: 8)
        }
    }

    fileprivate static func hexadecimal(_ value: UInt32, digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

extension Unicode.Scalar {
    /// Whether it moves, colours, reverses or hides text instead of being visible.
    public var isHidden: Bool {
        if isASCII { return value < 0x20 || value == 0x7f }
        if properties.isDefaultIgnorableCodePoint { return true }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}

extension Printable: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { text = value }

    public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { text += literal }

        public mutating func appendInterpolation(_ printable: Printable) { text += printable.text }

        public mutating func appendInterpolation(_ name: Name) { text += Printable(bytes: name.bytes).text }

        public mutating func appendInterpolation(_ bytes: [UInt8]) { text += Printable(bytes: bytes).text }

        public mutating func appendInterpolation<Value>(_ value: Value) {
            text += Printable(String(describing: value)).text
        }
    }
}

extension Printable: Codable {
    public init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        try value.encode(text)
    }
}

extension Printable: CustomStringConvertible {
    public var description: String { text }

    public var isEmpty: Bool { text.isEmpty }

    /// In characters.
    public var count: Int { text.count }

    public static func + (first: Printable, second: Printable) -> Printable {
        Printable(verbatim: first.text + second.text)
    }

    public static func += (first: inout Printable, second: Printable) { first = first + second }
}

extension Sequence<Printable> {
    public func joined(separator: String = "") -> Printable {
        Printable(verbatim: map(\.text).joined(separator: separator))
    }
}

extension Printable {
    /// One word of a command for bash: `plain`, `'two words'`, or `$'\x1b'` if it contains hidden characters.
    ///
    /// Hidden characters are written as bytes, not as `\u202e`, whose result depends on the locale. Source: bash(1),
    /// QUOTING.
    public init(word: some StringProtocol) {
        if word.unicodeScalars.contains(where: \.isHidden) {
            self.init(verbatim: "$'\(word.unicodeScalars.map(Self.quoted).joined())'")
        } else if !word.isEmpty, word.utf8.allSatisfy(Self.isPlainInShell) {
            self.init(verbatim: String(word))
        } else {
            let parts = word.split(separator: "'", omittingEmptySubsequences: false)
            self.init(verbatim: "'" + parts.joined(separator: "'\\''") + "'")
        }
    }

    /// As `init(word:)`, for a name that may not be UTF-8.
    public init(wordOf bytes: [UInt8]) {
        if let word = String(validating: bytes, as: UTF8.self) {
            self.init(word: word)
            return
        }
        var text = ""
        Self.parse(bytes) { scalar in
            text += Self.quoted(scalar)
        } invalid: {
            text += Self.escaped($0)
        }
        self.init(verbatim: "$'\(text)'")
    }

    /// The character as written between `$'` and `'`.
    private static func quoted(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\\", "'": "\\\(scalar)"
        case "\n": "\\n"
        case "\t": "\\t"
        case "\r": "\\r"
        case _ where !scalar.isHidden: String(scalar)
        default: String(scalar).utf8.map(escaped).joined()
        }
    }

    private static func isPlainInShell(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default:
            "/._-+,:@%=".utf8.contains(byte)
        }
    }
}

extension String {
    /// Quoted as one word for a shell.
    public var quoted: Printable { Printable(word: self) }
}

extension [UInt8] {
    /// Quoted as one word for a shell.
    public var quoted: Printable { Printable(wordOf: self) }
}
