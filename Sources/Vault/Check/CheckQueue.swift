import Glibc
import Posix

/// What the workers of a check have to do next: little, for whoever finds it full does the work at once himself. So
/// memory stays bounded whatever the tree looks like.
///
/// Thread-safe.
@safe
final class CheckQueue: @unchecked Sendable {  // unchecked: all fields but the two pointers are guarded by `mutex`
    enum Job: Sendable {
        /// A directory with all that is below it.
        case folder(CheckedFolder)
        /// Some entries of a directory, none of them a directory; each is `part` of the whole.
        case entries(CheckedFolder, [DirectoryEntry], part: UInt64)
        /// Some blocks of a large file.
        case blocks(CheckedContents, Range<UInt64>)
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let capacity: Int
    private var jobs: [Job] = []
    /// Workers that are at a job, which may bring more of them.
    private var busy = 0

    init(capacity: Int) {
        self.capacity = capacity
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

    /// Leaves a job to whoever is free; false when enough wait, and the caller is to do it.
    func offer(_ job: Job) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        guard jobs.count < capacity else { return false }
        jobs.append(job)
        unsafe pthread_cond_signal(condition)
        return true
    }

    /// Does jobs until none are left and nobody is at one that may bring more.
    func work(_ body: (Job) -> Void) {
        unsafe pthread_mutex_lock(mutex)
        while true {
            if let job = jobs.popLast() {
                busy += 1
                unsafe pthread_mutex_unlock(mutex)
                body(job)
                unsafe pthread_mutex_lock(mutex)
                busy -= 1
            } else if busy > 0 {
                unsafe pthread_cond_wait(condition, mutex)
            } else {
                break
            }
        }
        unsafe pthread_cond_broadcast(condition)
        unsafe pthread_mutex_unlock(mutex)
    }
}
