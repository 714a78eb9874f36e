public import Format
public import Freshness
public import Posix

/// A file, or something else of the vault, that is older than what this machine has seen, or in conflict with it.
public struct StaleObject: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case file, directory, symbolicLink
        /// An extended attribute; nil for all those that the store does not take.
        case attribute([UInt8]?)
        /// A block of a file, by its number in the file.
        case block(UInt64)
    }

    public enum Place: Hashable, Sendable {
        /// The name, that of the backing file, and the folder.
        case entry(Name, stored: Name, in: DirectoryIdentifier)
        /// The backing inode's number.
        case inode(UInt64)
    }

    public let kind: Kind
    /// `older`, `back` or `conflict`.
    public let verdict: Verdict
    public let remembered: Mark
    /// When the header that was found was written, in seconds since 1970; nil of what has no header.
    public let written: Int64?
    public let place: Place
    public let key: MarkKey

    public var name: Name? { if case .entry(let name, _, _) = place { name } else { nil } }

    /// What it is, and how it differs.
    public var reason: Printable {
        switch (kind, verdict) {
        case (.file, .back): "a removed file is back"
        case (.file, .conflict): "it was changed apart from what this machine has seen"
        case (.file, _): "an older version than this machine has seen"
        case (.block(let number), _): "an older version of its block \(number) than this machine has seen"
        case (.directory, .back): "a folder that was renamed is back"
        case (.directory, .conflict): "the folder's class was changed apart from what this machine has seen"
        case (.directory, _): "an older class of the folder than this machine has seen"
        case (.symbolicLink, _): "a link that was removed or replaced is back"
        case (.attribute(let name?), _): "an older attribute \(Path(bytes: name)) that was removed or replaced is back"
        case (.attribute(nil), _): "older attributes that were replaced are back"
        }
    }
}
