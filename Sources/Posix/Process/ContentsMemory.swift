import CLinux
import Glibc
import Synchronization

/// Memory for plaintext contents of files: excluded from swap as far as RLIMIT_MEMLOCK allows, and from core files.
///
/// Pages are locked when they are first touched, so that locking allocates nothing. Memory that cannot be locked is
/// used all the same, and counted.
public enum ContentsMemory {
    private static let unlocked = Atomic(0)
    private static let failure = Mutex<(@Sendable (Errno) -> Void)?>(nil)

    /// The number of bytes in use that could not be locked.
    public static var unlockedByteCount: Int { unlocked.load(ordering: .relaxed) }

    /// Calls `body` the first time that memory cannot be locked, on the thread that needs it.
    public static func whenNotLocked(_ body: @escaping @Sendable (Errno) -> Void) {
        failure.withLock { $0 = body }
    }

    /// Protects the pages of these bytes, including other data in the first and the last page.
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

    /// Call it before the memory is freed: malloc(3) may reuse it, and it must not be counted any more.
    public static func release(_ memory: UnsafeMutableRawBufferPointer, wasLocked: Bool) {
        if wasLocked {
            unsafe lk_unlock_memory(memory.baseAddress!, memory.count)
        } else {
            unlocked.subtract(memory.count, ordering: .relaxed)
        }
    }
}
