/// The text of values and keys, so that `TOMLReader` reads the same from it.
public enum TOMLText {
    /// The string in quotes; nil if the subset of the reader has no text for it.
    public static func quoted(_ string: String) -> String? {
        guard string.utf8.allSatisfy(\.isText) else { return nil }
        if !string.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            return "\"\(string)\""
        }
        return string.utf8.contains(UInt8(ascii: "'")) ? nil : "'\(string)'"
    }

    /// A part of a table's name, in quotes only if it needs them; nil if the subset has no text for it.
    public static func namePart(_ string: String) -> String? {
        !string.isEmpty && string.utf8.allSatisfy(\.isBareKey) ? string : quoted(string)
    }
}
