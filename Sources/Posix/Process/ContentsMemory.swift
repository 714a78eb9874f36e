import CLinux
import Glibc
import Synchronization

/// Memory through which contents of files pass in clear: kept out of swap as far as RLIMIT_MEMLOCK allows, and out of core
/// files.
///
/// Pages are locked when they are first touched, so that locking takes no memory. What cannot be locked is used all the
/// same, and counted.
public enum ContentsMemory {
    private static let unlocked = Atomic(0)
    private static let failure = Mutex<(@Sendable (Errno) -> Void)?>(nil)

    /// Bytes that are in use and could not be locked.
    public static var unlockedByteCount: Int { unlocked.load(ordering: .relaxed) }

    /// Calls `body` the first time that something cannot be locked, on the thread that needs it.
    public static func whenNotLocked(_ body: @escaping @Sendable (Errno) -> Void) {
        failure.withLock { $0 = body }
    }

    /// Protects the pages that these bytes lie in. What else lies in the first and the last of them is protected with them.
    ///
    /// Source: mlock2(2), MLOCK_ONFAULT; madvise(2), MADV_DONTDUMP.
    /// - Returns: whether they are locked, for `release`.
    public static func protect(_ memory: UnsafeMutableRawBufferPointer) -> Bool {
        unsafe lk_do_not_dump(memory.baseAddress!, memory.count)
        guard unsafe lk_lock_memory(memory.baseAddress!, memory.count) != 0 else { return true }
        let errno = Errno.current
        unlocked.add(memory.count, ordering: .relaxed)
        if let tell = failure.withLock({ $0.take() }) { tell(errno) }
        return false
    }

    /// Before the memory is given back: what malloc(3) gives to others must not count.
    public static func release(_ memory: UnsafeMutableRawBufferPointer, wasLocked: Bool) {
        if wasLocked {
            unsafe lk_unlock_memory(memory.baseAddress!, memory.count)
        } else {
            unlocked.subtract(memory.count, ordering: .relaxed)
        }
    }
}
