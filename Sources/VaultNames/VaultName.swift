/// The name of a vault: a word that a shell takes as it is and that is no path.
public struct VaultName: Hashable, Sendable, CustomStringConvertible {
    /// In bytes.
    public static let longest = 64

    public let text: String

    /// Nil for text that is no name: `problem(with:)` says why.
    public init?(_ text: String) {
        guard Self.problem(with: text) == nil else { return nil }
        self.text = text
    }

    public var description: String { text }

    /// Why this is no name, so that it can follow "a name"; nil if it is one.
    public static func problem(with text: String) -> String? {
        if text.isEmpty { return "has one character or more" }
        if text.utf8.count > longest { return "has at most \(longest) bytes" }
        if text.utf8.contains(UInt8(ascii: "/")) { return "has no slash, which would make it a path" }
        if text.hasPrefix("-") { return "does not begin with a minus, as an option does" }
        if text.hasPrefix(".") { return "does not begin with a full stop, as a path may" }
        if text.hasPrefix("~") { return "does not begin with ~, which a shell replaces" }
        if text.unicodeScalars.contains(where: { $0.properties.isWhitespace || isHidden($0) }) {
            return "has no spaces and no invisible characters"
        }
        if text.utf8.contains(where: { #"'"\"#.utf8.contains($0) }) { return "has no quotes and no backslash" }
        return nil
    }

    /// Two names that look alike must not be two names.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .unassigned, .privateUse, .surrogate: true
        default: false
        }
    }
}
