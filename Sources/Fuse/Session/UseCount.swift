import Glibc
import Synchronization

/// Counts who still needs the session's memory: replies that are owed, notifications under way.
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

    /// False once `close` was called.
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

    /// Lets no one enter any more and waits until the last has left. To be called once.
    func close() {
        state.add(Self.closed, ordering: .acquiringAndReleasing)
        // Someone who came too late and left again may have posted once too often: hence the loop.
        while state.load(ordering: .acquiring) != Self.closed {
            unsafe sem_wait(drained)
        }
    }
}
