import Posix
import Vault

/// Jobs for the workers of a check. It holds few: if it is full, a worker does its new job itself, so memory does not
/// grow with the tree.
///
/// Thread-safe.
final class CheckQueue: Sendable {
    enum Job: Sendable {
        /// A directory and everything below it.
        case folder(CheckedFolder)
        /// Some entries of a directory, none of them a directory. Each has the share `part` of the whole.
        case entries(CheckedFolder, [DirectoryEntry], part: UInt64)
        /// Some blocks of a large file.
        case blocks(CheckedContents, Range<UInt64>)
    }

    private struct State {
        var jobs: [Job] = []
        /// Workers at a job. Each may add jobs.
        var busy = 0
    }

    private let capacity: Int
    private let monitor = Monitor(State())

    init(capacity: Int) { self.capacity = capacity }

    /// Adds a job for another worker. False if the queue is full: then the caller must do the job.
    func offer(_ job: Job) -> Bool {
        let isTaken = monitor.withLock { state in
            guard state.jobs.count < capacity else { return false }
            state.jobs.append(job)
            return true
        }
        if isTaken { monitor.wakeOne() }
        return isTaken
    }

    /// Does jobs until none are left and no worker can add more.
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

    /// Waits for a job. Nil if there is none and no worker can add one.
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
