/// Names an inode between the kernel and the file system.
///
/// The file system chooses it in `lookup` and its like, and keeps it valid until the kernel has forgotten as many
/// lookups as were answered.
public struct NodeID: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The directory that is mounted: known to the kernel without a lookup, and never forgotten.
    public static let root = NodeID(rawValue: 1)
}

/// Names an open file or directory: chosen by `open`, `create` and `opendir`, valid until its `release`.
public struct HandleID: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}
