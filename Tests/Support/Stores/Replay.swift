import Glibc
public import Posix
public import Store

/// Applies records to a store one by one, beginning with an empty folder.
///
/// Keeps a descriptor open for every inode that the records make, so that files without a name can be written too.
public struct Replay {
    private let store: any Store
    private var files: [RecordedInode: Descriptor]

    public init(into store: any Store) {
        self.store = store
        files = [.root: store.root]
    }

    /// ENOENT for a file that no earlier record has made. Flushes are skipped: the next open of the folder sees what
    /// has been applied.
    public mutating func apply(_ record: Record) throws(Errno) {
        if record.isFlush { return }
        let change = try record.change.map { inode throws(Errno) in
            guard let file = files[inode] else { throw .ENOENT }
            return file
        }
        guard let made = record.made else { return try store.apply(change) }
        switch change {
        case .create(let name, let directory, let mode):
            // The creating descriptor may write whatever the mode says.
            files[made] = try store.open(name, in: directory, O_RDWR | O_CREAT | O_EXCL, mode: mode)
        case .makeNode(let name, let directory, let mode, _) where FileKind(mode: mode) == .regular:
            try store.apply(change)
            files[made] = try store.open(name, in: directory, O_RDWR)
        case .makeDirectory(let name, let directory, _), .makeNode(let name, let directory, _, _),
            .makeSymbolicLink(_, let name, let directory):
            try store.apply(change)
            files[made] = try store.open(name, in: directory, O_PATH)
        default:
            preconditionFailure("this change makes no inode")
        }
    }

    /// Applies records in order.
    public mutating func apply(_ records: some Sequence<Record>) throws(Errno) {
        for record in records { try apply(record) }
    }
}
