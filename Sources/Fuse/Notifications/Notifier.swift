import CFuse
import Posix
import Synchronization

/// Makes the kernel drop what it has cached.
///
/// Usable on any thread at any time; before the mount and after its end, calls have no effect. Never call it from a
/// handler for the same inode, or under a lock that a handler takes: the kernel waits inside the call for the inode's
/// requests, and the thread could not be killed. A notifier does not keep its session alive.
@safe
public final class Notifier: Sendable {
    let use = UseCount()
    private let session = Mutex<UInt>(0)

    init() {}

    func attach(_ raw: OpaquePointer) {
        let address = UInt(bitPattern: raw)
        session.withLock { $0 = address }
    }

    /// Drops the pages of `length` bytes at `offset` (0: to the end) and the attributes of an inode. Dirty pages are
    /// written back first and mappings are torn down; returns when that is done. A negative offset drops only the
    /// attributes. An inode that the kernel does not know is no error.
    ///
    /// Source: fuse_lowlevel_notify_inval_inode.
    public func invalidate(_ node: NodeID, offset: Int64 = 0, length: Int64 = 0) throws(Errno) {
        unsafe try notify { session in
            unsafe fuse_lowlevel_notify_inval_inode(session, node.rawValue, off_t(offset), off_t(length))
        }
    }

    /// Drops a name, so that its next use looks it up. Waits for the directory's lock.
    ///
    /// Source: fuse_lowlevel_notify_inval_entry.
    public func invalidateEntry(_ name: Name, in parent: NodeID) throws(Errno) {
        unsafe try notify { session in
            unsafe name.withCString { bytes in
                unsafe fuse_lowlevel_notify_inval_entry(session, parent.rawValue, bytes, name.bytes.count)
            }
        }
    }

    /// Drops a name whose entry was deleted without a request from the kernel; inotify watchers are notified.
    ///
    /// Source: fuse_lowlevel_notify_delete.
    public func deleted(_ name: Name, of node: NodeID, in parent: NodeID) throws(Errno) {
        unsafe try notify { session in
            unsafe name.withCString { bytes in
                unsafe fuse_lowlevel_notify_delete(
                    session, parent.rawValue, node.rawValue, bytes, name.bytes.count)
            }
        }
    }

    private func notify(_ send: (OpaquePointer) -> Int32) throws(Errno) {
        guard use.acquire() else { return }
        defer { use.release() }
        guard let raw = unsafe OpaquePointer(bitPattern: session.withLock { $0 }) else { return }
        let result = unsafe send(raw)
        switch Errno(rawValue: -result) {
        case Errno(rawValue: 0): return
        // Unknown to the kernel, or the mount has ended: nothing is cached.
        case .ENOENT, .ENODEV, .ENOTCONN: return
        case let error: throw error
        }
    }
}
