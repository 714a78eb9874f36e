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
    func hold(_ wanted: (NodeID, LeaseKind)..., names: [(NodeID, Name, LeaseKind)] = []) throws(Errno) -> HeldLeases {
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

    /// The write lease of a file of which something is in memory alone. What is in place needs none.
    private func holdIfUnsettled(_ id: NodeID) throws(Errno) -> HeldLeases {
        guard let file = base.nodes[id]?.state.withLock({ $0.file?.file }), file.isUnsettled else {
            return HeldLeases(leases)
        }
        return try hold((id, .write))
    }

    /// Whether a name is known to lead to nothing. Needs a lease of the folder.
    private func isMissing(_ name: Name, in folder: NodeID) -> Bool {
        guard let folder = base.nodes[folder], let object = SharedNodes.object(of: folder),
            case .nothing = nodes.known(name, in: object)
        else { return false }
        return true
    }

    private func forget(_ name: Name, in folder: NodeID) {
        guard let folder = base.nodes[folder], let object = SharedNodes.object(of: folder) else { return }
        nodes.forget(name, in: object)
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

    func forget(_ node: NodeID, count: UInt64) { base.forget(node, count: count) }

    // File handles are of no use: under which lease the object is, only its folder tells.
    func lookupHandle(_ request: Request, _ node: NodeID, reply: consuming Reply<Fuse.Entry>) { reply.fail(.ENOENT) }
    func lookupParent(_ request: Request, _ node: NodeID, reply: consuming Reply<Fuse.Entry>) { reply.fail(.ENOENT) }

    // MARK: Names

    func lookup(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Fuse.Entry>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .read), names: [(parent, name, .read)]) } catch {
            return reply.fail(error)
        }
        defer { held.release() }
        if isMissing(name, in: parent) { return reply.fail(.ENOENT) }
        base.lookup(request, name, in: parent, reply: reply)
    }

    func mkdir(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, reply: consuming Reply<Fuse.Entry>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        forget(name, in: parent)
        base.mkdir(request, name, in: parent, mode: mode, reply: reply)
    }

    func symlink(
        _ request: Request, _ name: Name, in parent: NodeID, target: [UInt8], reply: consuming Reply<Fuse.Entry>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        forget(name, in: parent)
        base.symlink(request, name, in: parent, target: target, reply: reply)
    }

    func mknod(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, device: UInt64,
        reply: consuming Reply<Fuse.Entry>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        forget(name, in: parent)
        base.mknod(request, name, in: parent, mode: mode, device: device, reply: reply)
    }

    func create(
        _ request: Request, _ name: Name, in parent: NodeID, mode: UInt32, flags: Int32,
        reply: consuming Reply<Created>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        if flags & O_EXCL == 0, let folder = node(parent), let found = found(name, in: folder), !found.isNothing {
            // Another machine was faster. On ESTALE the kernel looks again, and opens the file.
            return reply.fail(.ESTALE)
        }
        forget(name, in: parent)
        base.create(request, name, in: parent, mode: mode, flags: flags, reply: reply)
    }

    func tmpfile(
        _ request: Request, in parent: NodeID, mode: UInt32, flags: Int32, reply: consuming Reply<Created>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.tmpfile(request, in: parent, mode: mode, flags: flags, reply: reply)
    }

    func unlink(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .write), names: [(parent, name, .write)]) } catch {
            return reply.fail(error)
        }
        defer { held.release() }
        forget(name, in: parent)
        base.unlink(request, name, in: parent, reply: reply)
    }

    func rmdir(_ request: Request, _ name: Name, in parent: NodeID, reply: consuming Reply<Done>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((parent, .write), names: [(parent, name, .write)]) } catch {
            return reply.fail(error)
        }
        defer { held.release() }
        forget(name, in: parent)
        base.rmdir(request, name, in: parent, reply: reply)
    }

    func rename(
        _ request: Request, _ name: Name, in parent: NodeID, to newName: Name, in newParent: NodeID, flags: UInt32,
        reply: consuming Reply<Done>
    ) {
        var held: HeldLeases
        do throws(Errno) {
            held = try hold(
                (parent, .write), (newParent, .write),
                names: [(parent, name, .write), (newParent, newName, .write)])
        } catch { return reply.fail(error) }
        defer { held.release() }
        forget(name, in: parent)
        forget(newName, in: newParent)
        base.rename(request, name, in: parent, to: newName, in: newParent, flags: flags, reply: reply)
    }

    func link(
        _ request: Request, _ node: NodeID, as newName: Name, in newParent: NodeID, reply: consuming Reply<Fuse.Entry>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write), (newParent, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        forget(newName, in: newParent)
        base.link(request, node, as: newName, in: newParent, reply: reply)
    }

    func readlink(_ request: Request, _ node: NodeID, reply: consuming Reply<LinkTarget>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.readlink(request, node, reply: reply)
    }

    // MARK: Attributes

    func getattr(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<Attributes>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.getattr(request, node, handle: handle, reply: reply)
    }

    func statx(_ request: Request, _ node: NodeID, handle: HandleID?, reply: consuming Reply<ExtendedAttributes>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.statx(request, node, handle: handle, reply: reply)
    }

    func setattr(
        _ request: Request, _ node: NodeID, _ changes: AttributeChanges, handle: HandleID?,
        reply: consuming Reply<Attributes>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.setattr(request, node, changes, handle: handle, reply: reply)
    }

    func statfs(_ request: Request, _ node: NodeID, reply: consuming Reply<FileSystemStatistics>) {
        base.statfs(request, node, reply: reply)
    }

    func setxattr(
        _ request: Request, _ node: NodeID, _ name: [UInt8], value: RawSpan, flags: Int32, dropsSetGroupID: Bool,
        reply: consuming Reply<Done>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.setxattr(
            request, node, name, value: value, flags: flags, dropsSetGroupID: dropsSetGroupID, reply: reply)
    }

    func getxattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<AttributeValue>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.getxattr(request, node, name, reply: reply)
    }

    func listxattr(_ request: Request, _ node: NodeID, reply: consuming Reply<AttributeNames>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.listxattr(request, node, reply: reply)
    }

    func removexattr(_ request: Request, _ node: NodeID, _ name: [UInt8], reply: consuming Reply<Done>) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.removexattr(request, node, name, reply: reply)
    }

    // MARK: Files

    func open(
        _ request: Request, _ node: NodeID, flags: Int32, dropsPrivileges: Bool, reply: consuming Reply<Opened>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, flags & O_TRUNC != 0 ? .write : .read)) } catch {
            return reply.fail(error)
        }
        defer { held.release() }
        base.open(request, node, flags: flags, dropsPrivileges: dropsPrivileges, reply: reply)
    }

    func read(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, size: Int, reply: consuming Reply<Bytes>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.read(request, node, handle: handle, offset: offset, size: size, reply: reply)
    }

    func write(
        _ request: Request, _ bytes: RawSpan, to node: NodeID, handle: HandleID, offset: Int64, flags: WriteFlags,
        reply: consuming Reply<Count>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write)) } catch { return reply.fail(error) }
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
        base.release(request, node, handle: handle, flags: flags, unlocking: owner, reply: reply)
    }

    func fsync(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.fsync(request, node, handle: handle, dataOnly: dataOnly, reply: reply)
    }

    func fallocate(
        _ request: Request, _ node: NodeID, handle: HandleID, mode: Int32, offset: Int64, length: Int64,
        reply: consuming Reply<Done>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.fallocate(request, node, handle: handle, mode: mode, offset: offset, length: length, reply: reply)
    }

    func lseek(
        _ request: Request, _ node: NodeID, handle: HandleID, offset: Int64, whence: Int32,
        reply: consuming Reply<Offset>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.lseek(request, node, handle: handle, offset: offset, whence: whence, reply: reply)
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
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .read)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.readdir(request, node, handle: handle, offset: offset, size: size, reply: reply)
    }

    func fsyncdir(
        _ request: Request, _ node: NodeID, handle: HandleID, dataOnly: Bool, reply: consuming Reply<Done>
    ) {
        var held: HeldLeases
        do throws(Errno) { held = try hold((node, .write)) } catch { return reply.fail(error) }
        defer { held.release() }
        base.fsyncdir(request, node, handle: handle, dataOnly: dataOnly, reply: reply)
    }
}
