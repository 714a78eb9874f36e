import Format
import Fuse
import Glibc
import Posix
import Sharing
import Vault

/// A vault's file system for a vault in which other machines work too: has the leases of each request while the request
/// runs.
///
/// docs/LEASES.md says which request needs which.
final class SharedFileSystem: FileSystem {
    let base: VaultFileSystem
    let nodes: SharedNodes
    let leases: Leases
    let locks: ProgramLocks

    init(_ base: VaultFileSystem, _ nodes: SharedNodes) {
        self.base = base
        self.nodes = nodes
        leases = nodes.leases
        locks = ProgramLocks(base)
        nodes.serve(base)
    }

    // MARK: Leases

    private func node(_ id: NodeID) -> Node? {
        let node = base.nodes[id]
        if let node { nodes.note(node) }
        return node
    }

    /// The leases of nodes; a node that is gone, or has no lease, needs none.
    private func hold(
        _ wanted: [(NodeID, LeaseKind)], names: [(NodeID, Name, LeaseKind)] = []
    ) throws(Errno) -> HeldLeases {
        var wants = LeaseWants()
        for (id, kind) in wanted {
            if let node = node(id), let object = SharedNodes.object(of: node) { wants.add(object, kind) }
        }
        for (id, name, kind) in names {
            guard let folder = node(id) else { continue }
            wants.names.append(LeaseWants.Named(folder: folder, name: name, kind: kind))
        }
        return try hold(wants)
    }

    /// Runs a request with its leases, or answers it with an error.
    ///
    /// - Parameters:
    ///   - names: what they lead to is leased too.
    ///   - changing: the names that the request makes or takes away.
    private func holding<Value: ~Copyable>(
        _ wanted: (NodeID, LeaseKind)..., names: [(NodeID, Name, LeaseKind)] = [], changing: [(NodeID, Name)] = [],
        answering reply: consuming Reply<Value>, _ body: (consuming Reply<Value>) -> Void
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold(wanted, names: names) } catch { return reply.fail(error) }
        defer { held.release() }
        let changed = begin(changing)
        defer { end(changed) }
        body(reply)
    }

    private func begin(_ changing: [(NodeID, Name)]) -> [LeaseObject] {
        changing.compactMap { id, name in
            guard let folder = base.nodes[id].flatMap(SharedNodes.object) else { return nil }
            nodes.withNames { $0.beginChange(name, in: folder) }
            return folder
        }
    }

    private func end(_ changed: [LeaseObject]) {
        for folder in changed { nodes.withNames { $0.endChange(in: folder) } }
    }

    /// The write lease of a file of which something is in memory alone. What is in place needs none.
    private func holdIfUnsettled(_ id: NodeID) throws(Errno) -> HeldLeases {
        guard let file = base.nodes[id]?.state.withLock({ $0.file?.file }), file.isUnsettled else {
            return HeldLeases(leases)
        }
        return try hold([(id, .write)])
    }

    // MARK: The session

    func initialized(_ connection: Connection) {
        nodes.tellKernel(connection.expiresAllEntries)
        base.initialized(connection)
    }

    func destroyed() {
        locks.stop()
        base.destroyed()
    }

    func interrupted() {
        locks.interrupted()
        base.interrupted()
    }

    func forget(_ id: NodeID, count: UInt64) {
        let node = base.nodes[id]
        base.forget(id, count: count)
        noteEnd(of: node, id)
    }

    /// Of a node that is gone, and has no name that is known, no request comes any more.
    ///
    /// - Parameter node: what had the number before.
    private func noteEnd(of node: Node?, _ id: NodeID) {
        guard let node, node.hasOwnLease, node.latestName == nil, base.nodes[id] == nil,
            let object = SharedNodes.object(of: node)
        else { return }
        leases.noteEnd(of: object)
    }

    // File handles are of no use: under which lease the object is, only its folder tells.
    func lookupHandle(_ request: Request, _ node: NodeID, reply: consuming Reply<Fuse.Entry>) { reply.fail(.ENOENT) }
    func lookupParent(_ request: Request, _ node: NodeID, reply: consuming Reply<Fuse.Entry>) { reply.fail(.ENOENT) }

    // MARK: Names

    func lookup(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Fuse.Entry>) {
        holding((parent, .read), names: [(parent, name, .read)], answering: reply) { reply in
            // It was read a moment ago, for the lease of what it leads to.
            if isKnownToLack(name, parent) { return reply.fail(.ENOENT) }
            base.lookup(request, name, in: parent, reply: reply)
        }
    }

    /// Needs a lease of the folder.
    private func isKnownToLack(_ name: Name, _ folder: NodeID) -> Bool {
        guard let folder = base.nodes[folder].flatMap(SharedNodes.object) else { return false }
        return nodes.withNames { $0.found(name, in: folder) } == .nothing
    }

    func mkdir(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, reply: consuming Reply<Fuse.Entry>
    ) {
        holding((parent, .write), changing: [(parent, name)], answering: reply) {
            base.mkdir(request, name, in: parent, mode: mode, reply: $0)
        }
    }

    func symlink(
        _ request: Request, _ name: Name, in parent: NodeID, target: [UInt8], reply: consuming Reply<Fuse.Entry>
    ) {
        holding((parent, .write), changing: [(parent, name)], answering: reply) {
            base.symlink(request, name, in: parent, target: target, reply: $0)
        }
    }

    func mknod(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, device: UInt64,
        reply: consuming Reply<Fuse.Entry>
    ) {
        holding((parent, .write), changing: [(parent, name)], answering: reply) {
            base.mknod(request, name, in: parent, mode: mode, device: device, reply: $0)
        }
    }

    func create(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, flags: Int32,
        reply: consuming Reply<Created>
    ) {
        holding((parent, .write), answering: reply) { reply in
            if flags & O_EXCL == 0, let folder = node(parent), let found = found(name, in: folder), found != .nothing {
                // Another machine was faster. On ESTALE the kernel looks again, and opens the file.
                return reply.fail(.ESTALE)
            }
            let changed = begin([(parent, name)])
            defer { end(changed) }
            base.create(request, name, in: parent, mode: mode, flags: flags, reply: reply)
        }
    }

    func tmpfile(
        _ request: Request, in parent: NodeID, mode: UInt32, flags: Int32, reply: consuming Reply<Created>
    ) {
        holding((parent, .read), answering: reply) {
            base.tmpfile(request, in: parent, mode: mode, flags: flags, reply: $0)
        }
    }

    func unlink(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        holding((parent, .write), names: [(parent, name, .write)], changing: [(parent, name)], answering: reply) {
            base.unlink(request, name, in: parent, reply: $0)
        }
    }

    func rmdir(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        holding((parent, .write), names: [(parent, name, .write)], changing: [(parent, name)], answering: reply) {
            base.rmdir(request, name, in: parent, reply: $0)
        }
    }

    func rename(
        _ request: Request, _ name: Name, in parent: NodeID, to newName: Name, in newParent: NodeID, flags: UInt32,
        reply: consuming Reply<Done>
    ) {
        holding(
            (parent, .write), (newParent, .write), names: [(parent, name, .write), (newParent, newName, .write)],
            changing: [(parent, name), (newParent, newName)], answering: reply
        ) {
            base.rename(request, name, in: parent, to: newName, in: newParent, flags: flags, reply: $0)
        }
    }

    func link(
        _ request: Request, _ node: NodeID, as newName: Name, in newParent: NodeID, reply: consuming Reply<Fuse.Entry>
    ) {
        holding((node, .write), (newParent, .write), changing: [(newParent, newName)], answering: reply) {
            base.link(request, node, as: newName, in: newParent, reply: $0)
        }
    }

    func readlink(_ request: Request, _ node: NodeID, reply: consuming Reply<LinkTarget>) {
        holding((node, .read), answering: reply) {
            base.readlink(request, node, reply: $0)
        }
    }

    // MARK: Attributes

    func getattr(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>) {
        holding((node, .read), answering: reply) {
            base.getattr(request, node, handle: handle, reply: $0)
        }
    }

    func statx(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<ExtendedAttributes>) {
        holding((node, .read), answering: reply) {
            base.statx(request, node, handle: handle, reply: $0)
        }
    }

    func setattr(
        _ request: Request, _ node: NodeID, _ changes: AttributeChanges, handle: HandleID?,
        reply: consuming Reply<Attributes>
    ) {
        holding((node, .write), answering: reply) {
            base.setattr(request, node, changes, handle: handle, reply: $0)
        }
    }

    func statfs(_ request: Request, _ node: NodeID, reply: consuming Reply<FileSystemStatistics>) {
        base.statfs(request, node, reply: reply)
    }

    func setxattr(
        _ request: Request, _ node: NodeID, _ name: [UInt8], value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>
    ) {
        holding((node, .write), answering: reply) {
            base.setxattr(
                request, node, name, value: value, flags: flags, dropsSetGroupID: dropsSetGroupID, reply: $0)
        }
    }

    func getxattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<AttributeValue>) {
        holding((node, .read), answering: reply) {
            base.getxattr(request, node, name, reply: $0)
        }
    }

    func listxattr(_ request: Request, _ node: NodeID, reply: consuming Reply<AttributeNames>) {
        holding((node, .read), answering: reply) {
            base.listxattr(request, node, reply: $0)
        }
    }

    func removexattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<Done>) {
        holding((node, .write), answering: reply) {
            base.removexattr(request, node, name, reply: $0)
        }
    }

    // MARK: Files

    func open(
        _ request: Request, _ node: NodeID, flags: Int32, dropsPrivileges: Bool, reply: consuming Reply<Opened>
    ) {
        holding((node, flags & O_TRUNC != 0 ? .write : .read), answering: reply) {
            base.open(request, node, flags: flags, dropsPrivileges: dropsPrivileges, reply: $0)
        }
    }

    func read(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Bytes>
    ) {
        holding((node, .read), answering: reply) {
            base.read(request, node, handle: handle, offset: offset, size: size, reply: $0)
        }
    }

    func write(
        _ request: Request, _ bytes: RawSpan, to node: NodeID, handle: HandleID, offset: Int64, flags: WriteFlags,
        reply: consuming Reply<Count>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold([(node, .write)]) } catch {
            // The class of the file is not known here: a lock may have come while the request waited.
            request.markSecret()
            return reply.fail(error)
        }
        defer { held.release() }
        var offset = offset
        // The kernel may not know how long the file is by now.
        if flags.contains(.append), !flags.contains(.page),
            let file = base.nodes[node]?.state.withLock({ $0.file?.file })
        {
            offset = Int64(clamping: file.length)
        }
        base.write(request, bytes, to: node, handle: handle, offset: offset, flags: flags, reply: reply)
    }

    func flush(
        _ request: Request, _ node: NodeID, handle: HandleID, owner: LockOwner, reply: consuming Reply<Done>
    ) {
        // What the program has written must be in place before another one gets its locks.
        var held: HeldLeases
        do throws(Errno) { held = try holdIfUnsettled(node) } catch {
            locks.giveUp(owner, of: node)
            return reply.fail(error)
        }
        defer { held.release() }
        if let file = base.nodes[node]?.state.withLock({ $0.file?.file }), file.isUnsettled {
            do throws(VaultError) { try file.persistLength() } catch {
                locks.giveUp(owner, of: node)
                return reply.fail(error.errno)
            }
        }
        locks.giveUp(owner, of: node)
        base.flush(request, node, handle: handle, owner: owner, reply: reply)
    }

    func release(
        _ request: Request, _ node: NodeID, handle: HandleID, flags: Int32, unlocking owner: LockOwner?,
        reply: consuming Reply<Done>
    ) {
        if let owner { locks.giveUpWhole(owner, of: node) }
        // Also without the lease, the handle is closed: then what is not in place is lost, which is logged.
        var held = (try? holdIfUnsettled(node)) ?? HeldLeases(leases)
        defer { held.release() }
        let released = base.nodes[node]
        base.release(request, node, handle: handle, flags: flags, unlocking: owner, reply: reply)
        noteEnd(of: released, node)
    }

    func fsync(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        holding((node, .write), answering: reply) {
            base.fsync(request, node, handle: handle, dataOnly: dataOnly, reply: $0)
        }
    }

    func fallocate(
        _ request: Request, _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64,
        reply: consuming Reply<Done>
    ) {
        holding((node, .write), answering: reply) {
            base.fallocate(request, node, handle: handle, mode: mode, offset: offset, length: length, reply: $0)
        }
    }

    func lseek(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32,
        reply: consuming Reply<Offset>
    ) {
        holding((node, .read), answering: reply) {
            base.lseek(request, node, handle: handle, offset: offset, whence: whence, reply: $0)
        }
    }

    func obstacle(
        _ request: Request, _ node: NodeID, handle: HandleID, to kind: RangeLock, of range: ByteRange,
        owner: LockOwner, reply: consuming Reply<FoundLock?>
    ) {
        locks.obstacle(node, to: kind, of: range, owner: owner, reply: reply)
    }

    func lock(
        _ request: Request, _ node: NodeID, handle: HandleID, _ lock: LockRequest, reply: consuming Reply<Done>
    ) {
        locks.lock(node, lock, reply: reply)
    }

    // MARK: Folders

    func opendir(_ request: Request, _ node: NodeID, flags: Int32, reply: consuming Reply<Opened>) {
        base.opendir(request, node, flags: flags, reply: reply)
    }

    func releasedir(_ request: Request, _ node: NodeID, handle: HandleID, reply: consuming Reply<Done>) {
        base.releasedir(request, node, handle: handle, reply: reply)
    }

    func readdir(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Listing>
    ) {
        holding((node, .read), answering: reply) {
            base.readdir(request, node, handle: handle, offset: offset, size: size, reply: $0)
        }
    }

    func fsyncdir(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        holding((node, .write), answering: reply) {
            base.fsyncdir(request, node, handle: handle, dataOnly: dataOnly, reply: $0)
        }
    }
}
