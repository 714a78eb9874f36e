public import Posix

/// All calls to the folder that holds a vault.
///
/// The store has the primitive operations only, so that a test can stand between the vault and its folder and see, fail
/// or replay each one. A store never follows a symbolic link. Any thread may call any method at any time. Each does
/// what its system call does and has the same errors; the `Descriptor` extensions of Posix name the call.
///
/// A store that gives up waiting (`BoundedStore`) throws `Errno.notAnswered`, which no other store throws.
///
/// A descriptor must come from the same store.
public protocol Store: AnyObject, Sendable {
    /// The folder itself, open for reading.
    var root: Descriptor { get }

    /// The device on which changes of names and attributes reach the disk in the order in which they were made; nil if
    /// none is known. Files of other devices, mounted on a folder of the store, may have no order. Of the contents of
    /// files this says nothing.
    var orderedDevice: UInt64? { get }

    /// `flags` are O_*; O_CLOEXEC and O_NOFOLLOW are added.
    func open(_ name: Name, in directory: Descriptor, _ flags: Int32, mode: UInt32) throws(Errno) -> Descriptor

    /// Opens an open file again, with its own `flags`: O_RDONLY, O_WRONLY or O_RDWR, and O_NONBLOCK.
    func reopen(_ file: Descriptor, _ flags: Int32) throws(Errno) -> Descriptor

    /// The path of an open file from the root on. `ENOENT` if the file has no name any more, ENAMETOOLONG if the path
    /// cannot be found out.
    func path(of file: Descriptor) throws(Errno) -> [UInt8]

    func status(of name: Name, in directory: Descriptor) throws(Errno) -> FileStatus
    func status(of file: Descriptor) throws(Errno) -> FileStatus
    /// The birth time; nil if the store does not know it.
    func birthTime(_ name: Name, in directory: Descriptor) throws(Errno) -> Timespec?
    func birthTime(_ file: Descriptor) throws(Errno) -> Timespec?

    /// Reads until the buffer is full or the file ends. Returns the number of bytes read.
    func read(_ file: Descriptor, into buffer: inout MutableRawSpan, at offset: Int64) throws(Errno) -> Int
    /// Writes all bytes. After an error, any part of them may have been written.
    func write(_ bytes: RawSpan, to file: Descriptor, at offset: Int64) throws(Errno)
    /// The first offset at or after `offset` that is not in a hole; nil if there is none.
    func nextData(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64?
    /// The first offset at or after `offset` that is in a hole, or the file's end; nil if `offset` is past the end.
    func nextHole(of file: Descriptor, from offset: Int64) throws(Errno) -> Int64?
    /// Moves the time of access of an open file as a read would: `read` does not.
    func noteAccess(to file: Descriptor) throws(Errno)
    func truncate(_ file: Descriptor, to size: Int64) throws(Errno)
    /// `mode` is FALLOC_FL_*.
    func allocate(_ file: Descriptor, mode: Int32, offset: Int64, length: Int64) throws(Errno)

    /// Makes a file, or the names in a directory, durable. A failure is final: a later success proves nothing.
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
    /// All entries but `.` and `..`, from the beginning.
    func entries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry]
    /// The next entries but `.` and `..`, from the open directory's offset on; none at its end. For one thread.
    func nextEntries(of directory: Descriptor) throws(Errno) -> [DirectoryEntry]

    func setMode(_ mode: UInt32, of name: Name, in directory: Descriptor) throws(Errno)
    func setMode(_ mode: UInt32, of file: Descriptor) throws(Errno)
    /// Nil keeps the user or the group.
    func setOwner(user: UInt32?, group: UInt32?, of name: Name, in directory: Descriptor) throws(Errno)
    func setOwner(user: UInt32?, group: UInt32?, of file: Descriptor) throws(Errno)
    func setTimes(
        accessed: TimeChange, modified: TimeChange, of name: Name, in directory: Descriptor
    ) throws(Errno)
    func setTimes(accessed: TimeChange, modified: TimeChange, of file: Descriptor) throws(Errno)

    func attribute(_ name: String, of file: Descriptor) throws(Errno) -> [UInt8]
    /// Copies the value to `value` and returns its size in bytes; ERANGE if it does not fit.
    func attribute(
        _ name: String, of entry: Name, in directory: Descriptor, into value: inout MutableRawSpan
    ) throws(Errno) -> Int
    /// `flags` are XATTR_*.
    func setAttribute(_ name: String, to value: [UInt8], flags: Int32, of file: Descriptor) throws(Errno)
    func removeAttribute(_ name: String, of file: Descriptor) throws(Errno)
    func attributeNames(of file: Descriptor) throws(Errno) -> [String]

    func statistics() throws(Errno) -> FileSystemStatistics
    /// EWOULDBLOCK if another open file has the lock.
    func lockExclusively(_ file: Descriptor) throws(Errno)

    /// Locks bytes for an open file, or, with nil, gives its locks of them up; false if another open file's lock is in
    /// the way. Whether other machines see the lock depends on the store.
    func lock(_ range: ByteRange, _ kind: RangeLock?, of file: Descriptor) throws(Errno) -> Bool
    /// One of the other open files' locks that are in the way of such a lock; nil if none is.
    func obstacle(
        to kind: RangeLock, of range: ByteRange, in file: Descriptor
    ) throws(Errno) -> (RangeLock, ByteRange)?
}

extension Errno {
    /// ETIMEDOUT: the call was given up. It has had no effect, or will have its effect later, before any other call on
    /// the same file or folder. A flush that was given up is no failed flush: the next one of the same file tells how
    /// it ended.
    public static let notAnswered = Errno.ETIMEDOUT

    /// The same error, of a store that never gives up: a device or a server that reports ETIMEDOUT has failed.
    var asAnswered: Errno { self == .notAnswered ? .EIO : self }
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
