/// Identifies an inode between the kernel and the file system.
///
/// The file system chooses it in `lookup` and similar answers, and keeps it valid until the kernel has forgotten all
/// lookups of it.
public struct NodeID: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The mounted directory: the kernel knows it without a lookup, and never forgets it.
    public static let root = NodeID(rawValue: 1)
}

/// Identifies an open file or directory: chosen by `open`, `create` and `opendir`, valid until its `release`.
public struct HandleID: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}
