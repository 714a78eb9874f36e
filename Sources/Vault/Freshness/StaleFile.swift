public import Format
public import Freshness
public import Posix

/// A file that is older than what this machine has seen, or in conflict with it.
public struct StaleFile: Hashable, Sendable {
    /// `older`, `back` or `conflict`.
    public let verdict: Verdict
    public let remembered: Mark
    public let found: Mark
    /// When the header that was found was written, in seconds since 1970.
    public let written: Int64
    public let name: Name
    /// Of the backing file.
    public let stored: Name
    public let folder: DirectoryIdentifier
    public let key: MarkKey

    /// Why the file is refused.
    public var reason: String {
        switch verdict {
        case .back: "a removed file is back"
        case .conflict: "it was changed apart from what this machine has seen"
        case .older, .same, .newer: "an older version than this machine has seen"
        }
    }
}
