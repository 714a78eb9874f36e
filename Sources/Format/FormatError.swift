/// Why bytes do not follow docs/FORMAT.md.
public enum FormatError: Error, Hashable, Sendable {
    /// Fewer bytes than the structure needs.
    case tooShort
    /// Another magic.
    case wrongMagic
    /// A version that this program does not know.
    case unknownVersion(UInt16)
    /// A feature bit that this program does not know and must not ignore.
    case unknownFeature
    /// The named field is out of range, or not zero where it must be.
    case badField(String)
}

/// Text to follow the name of the structure.
extension FormatError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooShort: "truncated"
        case .wrongMagic: "its first bytes are not those of the format"
        case .unknownVersion(let version): "of version \(version), which is not known"
        case .unknownFeature: "it uses a feature that this program does not know"
        case .badField(let field): "its \(field) is not what the format allows"
        }
    }
}
