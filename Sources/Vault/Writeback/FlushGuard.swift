import Posix
import Synchronization

/// One flush at a time, so that all callers learn of a failure, and the failure, which is final.
struct FlushGuard: ~Copyable, Sendable {
    /// Held during a flush. Recursive because an observer of the store may flush once more meanwhile. Lock order:
    /// docs/ARCHITECTURE.md.
    let lock = RecursiveLock()
    /// The error of the flush that has failed, if one has. Lock order: docs/ARCHITECTURE.md.
    let failure = Mutex<Errno?>(nil)
}
