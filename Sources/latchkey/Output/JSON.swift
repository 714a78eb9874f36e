import FoundationEssentials

/// JSON for scripts: keys sorted, one object a page.
enum JSON {
    static func text(_ value: some Encodable) throws -> String {
        try encoded(value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    }

    /// On one line.
    static func line(_ value: some Encodable) throws -> String {
        try encoded(value, [.sortedKeys, .withoutEscapingSlashes])
    }

    private static func encoded(
        _ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting
    ) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
