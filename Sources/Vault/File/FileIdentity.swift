import Format

/// One file of the backing folder: the ID in its header, and its inode.
///
/// The ID alone does not identify it: a copier that does not know of hard links makes several files of one, all with
/// its ID.
struct FileIdentity: Hashable, Sendable {
    let identifier: FileIdentifier
    let inode: UInt64

    /// For a record that is about no file.
    static let none = FileIdentity(identifier: .zero, inode: 0)
}
