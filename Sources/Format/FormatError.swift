/// Why bytes are not what docs/FORMAT.md says.
public enum FormatError: Error, Hashable, Sendable {
    /// Fewer bytes than the structure has.
    case tooShort
    /// Not the magic that the structure begins with.
    case wrongMagic
    /// A version that this program does not know.
    case unknownVersion(UInt16)
    /// A feature bit that this program does not know and must not ignore.
    case unknownFeature
    /// A field, named, that is out of its range, or not zero where zero is demanded.
    case badField(String)
}

/// As what is wrong with the structure that is named before it.
extension FormatError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooShort: "cut short"
        case .wrongMagic: "does not begin as one"
        case .unknownVersion(let version): "of version \(version), which is not known"
        case .unknownFeature: "uses what this program does not know"
        case .badField(let field): "its \(field) is not what the format allows"
        }
    }
}
