/// The identity of an inode in a record. Unlike an inode number it is never reused for another file.
public struct RecordedInode: Hashable, Sendable {
    public let number: Int

    public init(number: Int) {
        self.number = number
    }

    /// The store's own folder.
    public static let root = RecordedInode(number: 0)
}

/// One change that a store has made, or one flush, in a form that outlives the store.
///
/// Applied in order over an empty folder, all records of a store make its contents again.
public struct Record: Hashable, Sendable {
    public let change: Change<RecordedInode>
    /// The inode that the change made: of `create`, `makeDirectory`, `makeNode` and `makeSymbolicLink`.
    public let made: RecordedInode?

    public init(_ change: Change<RecordedInode>, made: RecordedInode? = nil) {
        self.change = change
        self.made = made
    }

    /// Whether it makes earlier changes durable, and changes nothing itself.
    public var isFlush: Bool {
        switch change {
        case .synchronize, .synchronizeAll: true
        default: false
        }
    }
}
