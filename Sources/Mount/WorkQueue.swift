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
    private var thread: pthread_t?

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

    func start() {
        var thread = pthread_t()
        let queue = unsafe Unmanaged.passRetained(self)
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                unsafe Unmanaged<WorkQueue>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, queue.toOpaque())
        precondition(result == 0, "cannot start a thread")
        self.thread = thread
    }

    /// Adds a piece of work. After `stop` it runs at once, on the caller's thread.
    func add(_ piece: @escaping @Sendable () -> Void) {
        let isTaken = withLock {
            if isStopped { return false }
            work.append(piece)
            return true
        }
        if !isTaken { piece() }
    }

    /// Runs what is left and ends the thread; returns when it has ended.
    func stop() {
        withLock { isStopped = true }
        if let thread { pthread_join(thread, nil) }
        thread = nil
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
