import Glibc
import Posix

/// One thread that runs pieces of work in their order: those that no request handler may do, because they tell the
/// kernel to drop pages of an inode that a request is under way for.
@safe
final class WorkQueue: @unchecked Sendable {  // unchecked: all fields but the two pointers are guarded by `mutex`
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var work: [@Sendable () -> Void] = []
    private var isStopped = false
    private let worker = Worker()

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// - Throws: why no thread can be made. What is added waits then, until `start` succeeds or `stop` is called.
    func start() throws(Errno) { try worker.start { [self] in run() } }

    /// Adds a piece of work. After `stop` it runs at once, on the caller's thread.
    func add(_ piece: @escaping @Sendable () -> Void) {
        let isTaken = withLock {
            if isStopped { return false }
            work.append(piece)
            return true
        }
        if !isTaken { piece() }
    }

    /// Has the thread run what is left and end; returns when it has ended. Where no thread was made, the caller's runs
    /// it.
    func stop() {
        withLock { isStopped = true }
        worker.join()
        run()
    }

    private func run() {
        while true {
            unsafe pthread_mutex_lock(mutex)
            while work.isEmpty && !isStopped { unsafe pthread_cond_wait(condition, mutex) }
            let pieces = work
            work = []
            unsafe pthread_mutex_unlock(mutex)
            if pieces.isEmpty { return }
            for piece in pieces { piece() }
        }
    }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer {
            unsafe pthread_cond_broadcast(condition)
            unsafe pthread_mutex_unlock(mutex)
        }
        return body()
    }
}
