import CFuse
import Glibc
import Posix
import Synchronization

/// Makes the kernel drop what it has cached.
///
/// Usable on any thread at any time; before the mount and after its end, calls have no effect. Never call it from a
/// handler for the same inode, or under a lock that a handler takes: the kernel waits inside the call for the inode's
/// requests, and the thread could not be killed. A notifier does not keep its session alive.
///
/// Source: enum fuse_notify_code, and the struct of each notification, in linux/fuse.h.
@safe
public final class Notifier: Sendable {
    let use = UseCount()
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let device = Mutex<FuseDevice?>(nil)

    init() {}

    func attach(_ device: FuseDevice) { self.device.withLock { $0 = device } }

    /// The mount has ended.
    func detach() { device.withLock { $0 = nil } }

    /// Drops the pages of `length` bytes at `offset` (0: to the end) and the attributes of an inode. Dirty pages are
    /// written back first and mappings are torn down; returns when that is done. A negative offset drops only the
    /// attributes. An inode that the kernel does not know is no error.
    public func invalidate(_ node: NodeID, offset: Int64 = 0, length: Int64 = 0) throws(Errno) {
        try notify(
            FUSE_NOTIFY_INVAL_INODE, fuse_notify_inval_inode_out(ino: node.rawValue, off: offset, len: length))
    }

    /// Drops a name, so that its next use looks it up. Waits for the directory's lock.
    public func invalidateEntry(_ name: Name, in parent: NodeID) throws(Errno) {
        var out = fuse_notify_inval_entry_out()
        out.parent = parent.rawValue
        out.namelen = UInt32(name.bytes.count)
        try notify(FUSE_NOTIFY_INVAL_ENTRY, out, name)
    }

    /// Makes the kernel look a name up at its next use. Unlike `invalidateEntry` it takes nothing away from programs
    /// that use the entry: a working folder stays. Waits for the directory's lock. Only if `Connection.expiresEntries`.
    public func expireEntry(_ name: Name, in parent: NodeID) throws(Errno) {
        var out = fuse_notify_inval_entry_out()
        out.parent = parent.rawValue
        out.namelen = UInt32(name.bytes.count)
        out.flags = UInt32(FUSE_EXPIRE_ONLY)
        try notify(FUSE_NOTIFY_INVAL_ENTRY, out, name)
    }

    /// Drops a name whose entry was deleted without a request from the kernel; inotify watchers are notified.
    public func deleted(_ name: Name, of node: NodeID, in parent: NodeID) throws(Errno) {
        var out = fuse_notify_delete_out()
        out.parent = parent.rawValue
        out.child = node.rawValue
        out.namelen = UInt32(name.bytes.count)
        try notify(FUSE_NOTIFY_DELETE, out, name)
    }

    /// Makes the kernel look each name up at its next use, also where the answer to a lookup is under way. Takes none
    /// of the kernel's locks, and waits for nothing: handlers may call it. Only if `Connection.expiresAllEntries`.
    public func expireAllEntries() throws(Errno) {
        try notify(Int32(LK_FUSE_NOTIFY_INC_EPOCH), [])
    }

    private func notify<Wire: BitwiseCopyable>(
        _ code: fuse_notify_code, _ wire: Wire, _ name: Name? = nil
    ) throws(Errno) {
        var bytes = unsafe withUnsafeBytes(of: wire) { unsafe Array($0) }
        if let name { bytes += name.bytes + [0] }
        try notify(Int32(bitPattern: code.rawValue), bytes)
    }

    private func notify(_ code: Int32, _ bytes: [UInt8]) throws(Errno) {
        guard use.acquire() else { return }
        defer { use.release() }
        guard let device = device.withLock({ $0 }) else { return }
        do throws(Errno) { try device.notify(code, bytes) } catch {
            switch error {
            // Unknown to the kernel, or the mount has ended: nothing is cached.
            case .ENOENT, .ENODEV, .ENOTCONN: return
            default: throw error
            }
        }
    }
}
