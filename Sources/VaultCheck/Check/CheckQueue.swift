import Posix
import Vault

/// What the workers of a check have to do next. It holds few jobs: a worker that finds it full does the work itself, so
/// that memory stays bounded whatever the tree looks like.
///
/// Thread-safe.
final class CheckQueue: Sendable {
    enum Job: Sendable {
        /// A directory with all that is below it.
        case folder(CheckedFolder)
        /// Some entries of a directory, none of them a directory; each is `part` of the whole.
        case entries(CheckedFolder, [DirectoryEntry], part: UInt64)
        /// Some blocks of a large file.
        case blocks(CheckedContents, Range<UInt64>)
    }

    private struct State {
        var jobs: [Job] = []
        /// Workers that are at a job, which may bring more of them.
        var busy = 0
    }

    private let capacity: Int
    private let monitor = Monitor(State())

    init(capacity: Int) { self.capacity = capacity }

    /// Leaves a job to a free worker; false when enough wait, and the caller is to do it.
    func offer(_ job: Job) -> Bool {
        let isTaken = monitor.withLock { state in
            guard state.jobs.count < capacity else { return false }
            state.jobs.append(job)
            return true
        }
        if isTaken { monitor.wakeOne() }
        return isTaken
    }

    /// Does jobs until none are left and no worker is at one that may bring more.
    func work(_ body: (Job) -> Void) {
        while let job = next() {
            body(job)
            let isLast = monitor.withLock { state in
                state.busy -= 1
                return state.busy == 0 && state.jobs.isEmpty
            }
            if isLast { monitor.wakeAll() }
        }
    }

    /// Waits for a job; nil when there is none, and none can come.
    private func next() -> Job? {
        monitor.wait { state -> Job?? in
            if let job = state.jobs.popLast() {
                state.busy += 1
                return job
            }
            return state.busy > 0 ? .none : .some(nil)
        }
    }
}
