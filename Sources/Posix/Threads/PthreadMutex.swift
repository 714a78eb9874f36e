import Glibc

/// A mutex of the C library, for the locks in this folder: its owner calls `destroy` at its own end.
///
/// Source: pthread_mutex_lock(3), pthread_mutexattr_settype(3).
@safe struct PthreadMutex: @unchecked Sendable {
    // Unchecked because of the pointer, which never changes; its target is made for sharing between threads.
    // On the heap: a lock must not move.
    let pointer: UnsafeMutablePointer<pthread_mutex_t>

    enum Kind {
        case normal
        /// A thread tries for a moment before it sleeps.
        case adaptive
        /// Its holder may take it again.
        case recursive
    }

    init(_ kind: Kind = .normal) {
        let type =
            switch kind {
            case .normal: PTHREAD_MUTEX_NORMAL
            case .adaptive: PTHREAD_MUTEX_ADAPTIVE_NP
            case .recursive: PTHREAD_MUTEX_RECURSIVE
            }
        unsafe pointer = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        var result = unsafe pthread_mutexattr_init(&attributes)
        result |= unsafe pthread_mutexattr_settype(&attributes, Int32(type))
        result |= unsafe pthread_mutex_init(pointer, &attributes)
        precondition(result == 0, "cannot make a lock")
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    func lock() {
        let result = unsafe pthread_mutex_lock(pointer)
        precondition(result == 0, "cannot lock")
    }

    func unlock() { unsafe pthread_mutex_unlock(pointer) }

    func destroy() {
        unsafe pthread_mutex_destroy(pointer)
        unsafe pointer.deallocate()
    }
}
