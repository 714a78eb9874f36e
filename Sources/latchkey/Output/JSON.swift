import Format
import FoundationEssentials
import Posix

/// JSON for scripts: keys sorted, one object in each document.
///
/// It may be read at a terminal, so characters that would be invisible or reorder text are written as `\u202e` and the
/// like, which is the same JSON.
enum JSON {
    static func text(_ value: some Encodable) throws -> Printable {
        try encoded(value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }

    /// On one line.
    static func line(_ value: some Encodable) throws -> Printable {
        try encoded(value, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func encoded(
        _ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting
    ) throws -> Printable {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return printable(try encoder.encode(value))
    }

    /// Escapes hidden characters. They only occur in strings: the encoder escapes those of ASCII, and writes only
    /// newlines between strings.
    static func printable(_ json: some Sequence<UInt8>) -> Printable {
        var text = ""
        for scalar in String(decoding: Array(json), as: UTF8.self).unicodeScalars {
            if scalar != "\n", scalar.isHidden {
                for unit in String(scalar).utf16 { text += "\\u" + String(hexadecimal: unit, digits: 4) }
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return Printable(verbatim: text)
    }
}
