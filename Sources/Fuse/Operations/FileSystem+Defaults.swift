import Posix

extension FileSystem {
    public func initialized(_ connection: Connection) {}
    public func destroyed() {}
    public func interrupted() {}
    public func forget(_ node: NodeID, count: UInt64) {}

    public func lookup(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Entry>) {
        reply.fail(.ENOSYS)
    }

    public func lookupHandle(_ request: Request, _ node: NodeID, reply: consuming Reply<Entry>) { reply.fail(.ENOENT) }
    public func lookupParent(_ request: Request, _ node: NodeID, reply: consuming Reply<Entry>) { reply.fail(.ENOENT) }

    public func getattr(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>) {
        reply.fail(.ENOSYS)
    }

    public func statx(
        _ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<ExtendedAttributes>
    ) {
        reply.fail(.ENOSYS)
    }

    public func setattr(
        _ request: Request, _ node: NodeID, _ changes: AttributeChanges, handle: HandleID?,
        reply: consuming Reply<Attributes>
    ) {
        reply.fail(.ENOSYS)
    }

    public func readlink(_ request: Request, _ node: NodeID, reply: consuming Reply<LinkTarget>) {
        reply.fail(.ENOSYS)
    }

    public func mknod(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, device: UInt64,
        reply: consuming Reply<Entry>
    ) {
        reply.fail(.ENOSYS)
    }

    public func mkdir(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, reply: consuming Reply<Entry>
    ) {
        reply.fail(.ENOSYS)
    }

    public func unlink(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        reply.fail(.ENOSYS)
    }

    public func rmdir(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        reply.fail(.ENOSYS)
    }

    public func symlink(
        _ request: Request, _ name: Name, in parent: NodeID, target: [UInt8], reply: consuming Reply<Entry>
    ) {
        reply.fail(.ENOSYS)
    }

    public func rename(
        _ request: Request, _ name: Name, in parent: NodeID, to newName: Name, in newParent: NodeID, flags: UInt32,
        reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func link(
        _ request: Request, _ node: NodeID, as newName: Name, in newParent: NodeID, reply: consuming Reply<Entry>
    ) {
        reply.fail(.ENOSYS)
    }

    public func open(
        _ request: Request, _ node: NodeID, flags: Int32, dropsPrivileges: Bool, reply: consuming Reply<Opened>
    ) {
        reply.fail(.ENOSYS)
    }

    public func create(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, flags: Int32,
        reply: consuming Reply<Created>
    ) {
        reply.fail(.ENOSYS)
    }

    public func tmpfile(
        _ request: Request, in parent: NodeID, mode: UInt32, flags: Int32, reply: consuming Reply<Created>
    ) {
        reply.fail(.ENOSYS)
    }

    public func read(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Bytes>
    ) {
        reply.fail(.ENOSYS)
    }

    public func write(
        _ request: Request, _ bytes: RawSpan, to node: NodeID, handle: HandleID, offset: Int64, flags: WriteFlags,
        reply: consuming Reply<Count>
    ) {
        reply.fail(.ENOSYS)
    }

    public func flush(
        _ request: Request, _ node: NodeID, handle: HandleID, owner: LockOwner, reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func release(
        _ request: Request, _ node: NodeID, handle: HandleID, flags: Int32, unlocking owner: LockOwner?,
        reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func obstacle(
        _ request: Request, _ node: NodeID, handle: HandleID, to kind: RangeLock, of range: ByteRange,
        owner: LockOwner, reply: consuming Reply<FoundLock?>
    ) {
        reply.fail(.ENOSYS)
    }

    public func lock(
        _ request: Request, _ node: NodeID, handle: HandleID, _ lock: LockRequest, reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func fsync(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func opendir(_ request: Request, _ node: NodeID, flags: Int32, reply: consuming Reply<Opened>) {
        reply.fail(.ENOSYS)
    }

    public func readdir(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Listing>
    ) {
        reply.fail(.ENOSYS)
    }

    public func readdirplus(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int,
        reply: consuming Reply<EntryListing>
    ) {
        reply.fail(.ENOSYS)
    }

    public func releasedir(_ request: Request, _ node: NodeID, handle: HandleID, reply: consuming Reply<Done>) {
        reply.fail(.ENOSYS)
    }

    public func fsyncdir(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func statfs(_ request: Request, _ node: NodeID, reply: consuming Reply<FileSystemStatistics>) {
        reply.fail(.ENOSYS)
    }

    public func setxattr(
        _ request: Request, _ node: NodeID, _ name: [UInt8], value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func getxattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<AttributeValue>) {
        reply.fail(.ENOSYS)
    }

    public func listxattr(_ request: Request, _ node: NodeID, reply: consuming Reply<AttributeNames>) {
        reply.fail(.ENOSYS)
    }

    public func removexattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<Done>) {
        reply.fail(.ENOSYS)
    }

    public func fallocate(
        _ request: Request, _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64,
        reply: consuming Reply<Done>
    ) {
        reply.fail(.ENOSYS)
    }

    public func lseek(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32,
        reply: consuming Reply<Offset>
    ) {
        reply.fail(.ENOSYS)
    }
}
