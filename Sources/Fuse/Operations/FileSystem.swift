import Posix

/// A file system as the kernel uses it: one method for each kind of request.
///
/// The session's worker threads call the methods, several at once and for the same inode too (the kernel holds an
/// inode's lock during write, truncate and changes to a directory, but not during reads). Each method must make sure
/// that its reply is answered, at once or later from any thread. A method that is not implemented answers ENOSYS; then
/// the kernel does not send that request again, and falls back to what it does for file systems without the call.
///
/// Borrowed bytes (`RawSpan`) are invalid after the method returns.
///
/// Source: enum fuse_opcode in linux/fuse.h.
public protocol FileSystem: AnyObject, Sendable {
    /// The first call: the kernel and the session have agreed on `connection`.
    func initialized(_ connection: Connection)
    /// The last call, exactly once: the file system is unmounted, or the connection to the kernel was aborted. No
    /// `forget` or `release` comes for the remaining nodes and handles; all open replies must be answered.
    func destroyed()

    /// The caller of a request was sent a signal: `Reply.isInterrupted` of one that is still open is true now. This
    /// method must not block.
    func interrupted()

    func lookup(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Entry>)
    /// Finds a node again that the kernel knows by a file handle alone. It may be of an earlier mount. The entry must
    /// have the same number. Source: fuse_get_dentry in fs/fuse/inode.c.
    func lookupHandle(_ request: Request, _ node: NodeID, reply: consuming Reply<Entry>)
    /// Finds the directory that has an entry for the node. Source: fuse_get_parent in fs/fuse/inode.c.
    func lookupParent(_ request: Request, _ node: NodeID, reply: consuming Reply<Entry>)
    /// Undoes `count` lookups of a node. Has no answer.
    func forget(_ node: NodeID, count: UInt64)
    /// `handle` is present if the kernel itself asks through a handle, for instance to find the end of a file; stat(2)
    /// and fstat(2) come without.
    func getattr(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>)
    /// As `getattr`, with the fields that only statx(2) has. If it is not implemented, the kernel sends `getattr`
    /// instead.
    func statx(
        _ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<ExtendedAttributes>)
    func setattr(
        _ request: Request, _ node: NodeID, _ changes: AttributeChanges, handle: HandleID?,
        reply: consuming Reply<Attributes>)
    func readlink(_ request: Request, _ node: NodeID, reply: consuming Reply<LinkTarget>)
    /// `mode` includes the type: a regular file, FIFO, socket or device.
    func mknod(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, device: UInt64,
        reply: consuming Reply<Entry>)
    func mkdir(_ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, reply: consuming Reply<Entry>)
    func unlink(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>)
    func rmdir(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>)
    func symlink(
        _ request: Request, _ name: Name, in parent: NodeID, target: [UInt8], reply: consuming Reply<Entry>)
    /// `flags`: RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT.
    func rename(
        _ request: Request, _ name: Name, in parent: NodeID, to newName: Name, in newParent: NodeID, flags: UInt32,
        reply: consuming Reply<Done>)
    /// Adds another name to `node`. The answered entry counts as a lookup.
    func link(
        _ request: Request, _ node: NodeID, as newName: Name, in newParent: NodeID, reply: consuming Reply<Entry>)

    /// `flags` are those of open(2) without O_CREAT, O_EXCL and O_NOCTTY; O_TRUNC is the file system's task.
    /// `dropsPrivileges`, as in `AttributeChanges`, comes with O_TRUNC.
    func open(
        _ request: Request, _ node: NodeID, flags: Int32, dropsPrivileges: Bool, reply: consuming Reply<Opened>)
    func create(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, flags: Int32,
        reply: consuming Reply<Created>)
    /// Creates a file without a name, in the file system of the directory `parent`: open(2), O_TMPFILE. `link` may give
    /// it a name, unless `flags` has O_EXCL.
    func tmpfile(
        _ request: Request, in parent: NodeID, mode: UInt32, flags: Int32, reply: consuming Reply<Created>)
    /// Answers with exactly `size` bytes, or fewer at the end of the file.
    func read(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Bytes>)
    func write(
        _ request: Request, _ bytes: RawSpan, to node: NodeID, handle: HandleID, offset: Int64, flags: WriteFlags,
        reply: consuming Reply<Count>)
    /// A descriptor was closed; called once for each descriptor of a handle.
    /// With `Configuration.Locks.byFileSystem`, what `owner` has locked of the file by fcntl(2) is to be given up.
    func flush(
        _ request: Request, _ node: NodeID, handle: HandleID, owner: LockOwner, reply: consuming Reply<Done>)
    /// The handle's last descriptor and mapping are gone; `flags` are those of `open`. An error reaches no program.
    ///
    /// - Parameter owner: whose locks by flock(2) are to be given up; nil if there are none.
    func release(
        _ request: Request, _ node: NodeID, handle: HandleID, flags: Int32, unlocking owner: LockOwner?,
        reply: consuming Reply<Done>)
    /// F_GETLK of fcntl(2). Only with `Configuration.Locks.byFileSystem`.
    func obstacle(
        _ request: Request, _ node: NodeID, handle: HandleID, to kind: RangeLock, of range: ByteRange,
        owner: LockOwner, reply: consuming Reply<FoundLock?>)
    /// fcntl(2) and flock(2): EAGAIN if another owner's lock is in the way of one that is not waited for. Only with
    /// `Configuration.Locks.byFileSystem`.
    func lock(
        _ request: Request, _ node: NodeID, handle: HandleID, _ lock: LockRequest, reply: consuming Reply<Done>)
    func fsync(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>)

    func opendir(_ request: Request, _ node: NodeID, flags: Int32, reply: consuming Reply<Opened>)
    /// Answers with the entries from `offset` on: 0, or the `next` of an entry answered earlier on this handle, in any
    /// order (seekdir(3)). `.` and `..` are ordinary entries. An empty listing is the end.
    func readdir(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int,
        reply: consuming Reply<Listing>)
    /// As `readdir`, with a lookup of each entry.
    func readdirplus(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int,
        reply: consuming Reply<EntryListing>)
    func releasedir(_ request: Request, _ node: NodeID, handle: HandleID, reply: consuming Reply<Done>)
    func fsyncdir(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>)

    func statfs(_ request: Request, _ node: NodeID, reply: consuming Reply<FileSystemStatistics>)
    /// `flags`: XATTR_CREATE, XATTR_REPLACE. `dropsSetGroupID`: this access control list clears the set-group-ID bit,
    /// because the caller is not in the file's group and lacks CAP_FSETID.
    func setxattr(
        _ request: Request, _ node: NodeID, _ name: [UInt8], value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>)
    /// Answers ENODATA if there is no such attribute.
    func getxattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<AttributeValue>)
    func listxattr(_ request: Request, _ node: NodeID, reply: consuming Reply<AttributeNames>)
    func removexattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<Done>)

    /// `mode`: FALLOC_FL bits.
    func fallocate(
        _ request: Request, _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64,
        reply: consuming Reply<Done>)
    /// `whence`: SEEK_DATA or SEEK_HOLE; the kernel implements the others itself.
    func lseek(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32,
        reply: consuming Reply<Offset>)
}
