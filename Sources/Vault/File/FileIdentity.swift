import Format

/// One file of the backing folder: what its header calls it, and where it lies.
///
/// The ID alone does not tell: a copier that does not know of hard links makes several files of one, all with its ID.
struct FileIdentity: Hashable, Sendable {
    let identifier: FileIdentifier
    let inode: UInt64

    /// Of a record that is about no file.
    static let none = FileIdentity(identifier: .zero, inode: 0)
}
