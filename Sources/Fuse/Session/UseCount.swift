import Glibc
import Synchronization

/// Counts the users of the session's memory: open replies and running notifications.
@safe
final class UseCount: Sendable {
    private static let closed = 1 << 62
    private let state = Atomic<Int>(0)
    // Unchecked: a semaphore is made to be shared.
    nonisolated(unsafe) private let drained: UnsafeMutablePointer<sem_t>

    init() {
        unsafe drained = .allocate(capacity: 1)
        unsafe sem_init(drained, 0, 0)
    }

    deinit {
        unsafe sem_destroy(drained)
        unsafe drained.deallocate()
    }

    /// False after `close`.
    func acquire() -> Bool {
        guard state.add(1, ordering: .acquiringAndReleasing).oldValue & Self.closed == 0 else {
            release()
            return false
        }
        return true
    }

    func release() {
        if state.subtract(1, ordering: .acquiringAndReleasing).newValue == Self.closed {
            unsafe sem_post(drained)
        }
    }

    /// Refuses new users and waits until the last one has left. Call it once.
    func close() {
        state.add(Self.closed, ordering: .acquiringAndReleasing)
        // A late `acquire` that failed may have posted an extra time: hence the loop.
        while state.load(ordering: .acquiring) != Self.closed {
            unsafe sem_wait(drained)
        }
    }
}
