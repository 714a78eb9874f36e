public import Posix

/// Every call to the folder that holds a vault.
///
/// The primitive operations and nothing above them, so that a test can stand between the vault and its folder and see,
/// fail or replay each one. A store never follows a symbolic link. All methods may be called from any thread at any
/// time, and do what the system call of the same purpose does, errors included; the `Descriptor` extensions of Posix
/// name it.
///
/// Descriptors come from this store; one of another store must not be handed in.
public protocol Store: AnyObject, Sendable {
    /// The folder itself, open for reading.
    var root: Descriptor { get }

    /// `flags` are O_*; O_CLOEXEC and O_NOFOLLOW are added.
    func open(_ name: Name, in directory: Descriptor, _ flags: Int32, mode: UInt32) throws(Errno) -> Descriptor

    /// Opens an open file once more, with `flags` of its own: O_RDONLY, O_WRONLY or O_RDWR, and O_NONBLOCK.
    func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor

    /// Where an open file lies, relative to the root; `ENOENT` if it has no name any more, ENAMETOOLONG if that cannot
    /// be told.
    func path(of file: Descriptor) throws(Errno) -> [UInt8]

    func status(of name: Name, in directory: Descriptor) throws(Errno) -> FileStatus
    func status(of file: Descriptor) throws(Errno) -> FileStatus
    /// When it was made; nil where the store does not know.
    func birthTime(_ name: Name, in directory: Descriptor) throws(Errno) -> Timespec?
    func birthTime(_ file: Descriptor) throws(Errno) -> Timespec?

    /// Reads until the buffer is full or the file ends; the count of bytes read.
    func read(_ file: Descriptor, into buffer: inout MutableRawSpan, at offset: Int64) throws(Errno) -> Int
    /// Writes all bytes. When it throws, any part of them may have been written.
    func write(_ bytes: RawSpan, to file: Descriptor, at offset: Int64) throws(Errno)
    /// The first offset from `offset` on at which there is data rather than a hole; nil when there is none.
    func nextData(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64?
    /// The first offset from `offset` on at which there is a hole, or the end; nil when it is behind that.
    func nextHole(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64?
    /// Moves the time of access of an open file as a read moves it: `read` leaves none.
    func noteAccess(to file: Descriptor) throws(Errno)
    func truncate(_ file: Descriptor, to size: Int64) throws(Errno)
    /// `mode` is FALLOC_FL_*.
    func allocate(_ file: Descriptor, mode: Int32, offset: Int64, length: Int64) throws(Errno)

    /// Makes a file, or a directory's entries, durable. A failure is final: a later success proves nothing.
    func synchronize(_ file: Descriptor, dataOnly: Bool) throws(Errno)
    /// Makes everything in the store durable.
    func synchronizeAll() throws(Errno)

    /// `flags` are RENAME_*.
    func rename(
        _ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor, flags: UInt32
    ) throws(Errno)
    func link(_ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor) throws(Errno)
    func unlink(_ name: Name, in directory: Descriptor) throws(Errno)
    func removeDirectory(_ name: Name, in directory: Descriptor) throws(Errno)
    func makeDirectory(_ name: Name, in directory: Descriptor, mode: UInt32) throws(Errno)
    func makeNode(_ name: Name, in directory: Descriptor, mode: UInt32, device: UInt64) throws(Errno)
    func makeSymbolicLink(to target: [UInt8], _ name: Name, in directory: Descriptor) throws(Errno)
    func readSymbolicLink(_ name: Name, in directory: Descriptor) throws(Errno) -> [UInt8]
    /// All entries but `.` and `..`, from the start each time.
    func entries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry]
    /// The next entries but `.` and `..` from where the open directory stands; none at its end. For one thread.
    func nextEntries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry]

    func setMode(_ mode: UInt32, of name: Name, in directory: Descriptor) throws(Errno)
    func setMode(_ mode: UInt32, of file: Descriptor) throws(Errno)
    /// Nil leaves the user or the group as it is.
    func setOwner(user: UInt32?, group: UInt32?, of name: Name, in directory: Descriptor) throws(Errno)
    func setOwner(user: UInt32?, group: UInt32?, of file: Descriptor) throws(Errno)
    func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in directory: Descriptor
    ) throws(Errno)
    func setTimes(accessed: TimeChange, modified: TimeChange, of file: Descriptor) throws(Errno)

    func attribute(_ name: String, of file: Descriptor) throws(Errno) -> [UInt8]
    /// The count of bytes that were put into `value`; ERANGE if there are more.
    func attribute(
        _ name: String, of entry: Name, in directory: Descriptor, into value: inout MutableRawSpan
    ) throws(Errno) -> Int
    /// `flags` are XATTR_*.
    func setAttribute(_ name: String, to value: [UInt8], flags: Int32, of file: Descriptor) throws(Errno)
    func removeAttribute(_ name: String, of file: Descriptor) throws(Errno)
    func attributeNames(of file: Descriptor) throws(Errno) -> [String]

    func statistics() throws(Errno) -> FileSystemStatistics
    /// EWOULDBLOCK if another open file holds the lock.
    func lockExclusively(_ file: Descriptor) throws(Errno)
}

extension Store {
    public func open(_ name: Name, in directory: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor {
        try open(name, in: directory, flags, mode: 0)
    }

    public func rename(
        _ old: Name, in directory: Descriptor, to new: Name, in newDirectory: Descriptor
    ) throws(Errno) {
        try rename(old, in: directory, to: new, in: newDirectory, flags: 0)
    }

    public func setAttribute(_ name: String, to value: [UInt8], of file: Descriptor) throws(Errno) {
        try setAttribute(name, to: value, flags: 0, of: file)
    }
}
