import Posix

/// A file system, as the kernel asks for it: one method for each kind of request.
///
/// The methods are called on the session's worker threads, several at once, for the same inode too (the kernel holds an
/// inode's lock during write, truncate and changes to a directory, but not during reads). Each must see to it that its
/// reply is answered: at once, or later from any thread. A method that is left out answers ENOSYS, after which the
/// kernel does not ask again and does what it does for file systems without that call.
///
/// Bytes that are lent (`RawSpan`) are gone when the method returns.
///
/// Source: struct fuse_lowlevel_ops.
public protocol FileSystem: AnyObject, Sendable {
    /// The first call: the kernel and the library have agreed on `connection`.
    func initialized(_ connection: Connection)
    /// The last call, once: the file system is unmounted, or the connection to the kernel was aborted. Nodes and
    /// handles that are left are let go without `forget` and `release`; replies that are still owed must be answered.
    func destroyed()

    /// A request whose reply has asked for it, by `announceInterrupt`, is interrupted. Must wait for nobody and answer
    /// nothing: libfuse has locked that request.
    func interrupted()

    func lookup(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Entry>)
    /// Takes back `count` lookups of a node. Has no answer.
    func forget(_ node: NodeID, count: UInt64)
    /// `handle` is there for calls on a handle that the kernel itself makes, for instance to find the end of a file;
    /// stat(2) and fstat(2) come without.
    func getattr(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>)
    /// As `getattr`, with what statx(2) tells beyond stat(2). Without it the kernel asks `getattr` for the rest.
    func statx(
        _ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<ExtendedAttributes>)
    func setattr(
        _ request: Request, _ node: NodeID, _ changes: AttributeChanges, handle: HandleID?,
        reply: consuming Reply<Attributes>)
    func readlink(_ request: Request, _ node: NodeID, reply: consuming Reply<LinkTarget>)
    /// `mode` holds the type too. A regular file, fifo, socket or device.
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
    /// Gives `node` another name. The entry answered counts as a lookup.
    func link(
        _ request: Request, _ node: NodeID, as newName: Name, in newParent: NodeID, reply: consuming Reply<Entry>)

    /// `flags`: O_ACCMODE, O_APPEND, O_TRUNC (which is the file system's to do) and what else open(2) was given,
    /// without O_CREAT, O_EXCL and O_NOCTTY. `dropsPrivileges`, as in `AttributeChanges`, comes with O_TRUNC.
    func open(
        _ request: Request, _ node: NodeID, flags: Int32, dropsPrivileges: Bool, reply: consuming Reply<Opened>)
    func create(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, flags: Int32,
        reply: consuming Reply<Created>)
    /// Makes a file without a name, in the file system of the directory `parent`: open(2), O_TMPFILE. `link` may give
    /// it one, unless `flags` has O_EXCL.
    func tmpfile(
        _ request: Request, in parent: NodeID, mode: UInt32, flags: Int32, reply: consuming Reply<Created>)
    /// Answers with exactly `size` bytes, fewer only at the end of the file.
    func read(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Bytes>)
    func write(
        _ request: Request, _ bytes: RawSpan, to node: NodeID, handle: HandleID, offset: Int64, flags: WriteFlags,
        reply: consuming Reply<Count>)
    /// A descriptor was closed: as many times as a handle has descriptors.
    func flush(_ request: Request, _ node: NodeID, handle: HandleID, reply: consuming Reply<Done>)
    /// The handle's last descriptor and mapping are gone; `flags` are those of `open`. An error is heard by nobody.
    func release(_ request: Request, _ node: NodeID, handle: HandleID, flags: Int32, reply: consuming Reply<Done>)
    func fsync(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>)

    func opendir(_ request: Request, _ node: NodeID, flags: Int32, reply: consuming Reply<Opened>)
    /// Answers with the entries from `offset` on: 0, or the `next` of an entry that was answered earlier, on this
    /// handle in any order (seekdir(3)). `.` and `..` are entries like others. An empty listing is the end.
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
    /// `flags`: XATTR_CREATE, XATTR_REPLACE. `dropsSetGroupID`: with this access control list the set-group-ID bit
    /// goes, for the caller is not in the file's group and lacks CAP_FSETID.
    func setxattr(
        _ request: Request, _ node: NodeID, _ name: [UInt8], value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>)
    /// Answers ENODATA if there is none of that name.
    func getxattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<AttributeValue>)
    func listxattr(_ request: Request, _ node: NodeID, reply: consuming Reply<AttributeNames>)
    func removexattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<Done>)

    /// `mode`: FALLOC_FL bits.
    func fallocate(
        _ request: Request, _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64,
        reply: consuming Reply<Done>)
    /// `whence`: SEEK_DATA or SEEK_HOLE; the kernel does the others itself.
    func lseek(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32,
        reply: consuming Reply<Offset>)
}
