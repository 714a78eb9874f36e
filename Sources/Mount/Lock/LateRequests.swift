import Fuse
import Glibc
import Posix
import Synchronization

/// Work for requests that come after the lock. It needs threads of its own, because it makes the kernel drop pages of
/// inodes that have requests under way.
///
/// Each queue has its own thread. To drop all pages of a file, the kernel waits for the page that a write holds locked
/// until its answer, so no answer may stand behind a drop in a queue. `writes` and `flushes` wait for the disk.
final class LateRequests: Sendable {
    private let answers = WorkQueue()
    private let drops = WorkQueue()
    private let writes = WorkQueue()
    private let flushes = WorkQueue()
    private let notifier: @Sendable () -> Notifier?
    private let refusals = Atomic<UInt64>(0)
    private let pages = Atomic<UInt64>(0)
    private let isFlushing = Atomic(false)

    init(notifier: @escaping @Sendable () -> Notifier?) {
        self.notifier = notifier
    }

    /// - Throws: why a thread cannot be created; then `stop` ends the others.
    func start() throws(Errno) {
        for queue in [answers, drops, writes, flushes] { try queue.start() }
    }

    func stop() {
        for queue in [answers, drops, writes, flushes] { queue.stop() }
    }

    /// Counts a request that was admitted during an eviction and brings a page into the kernel's cache, or writes back
    /// a dirty one.
    func countPage() { pages.add(1, ordering: .relaxed) }

    /// The number of pages counted so far.
    var pageCount: UInt64 { pages.load(ordering: .relaxed) }

    /// Runs `body` unless an earlier one still runs: if the disk does not answer, waiting work must not pile up.
    ///
    /// - Parameter done: called when `body` has ended; at once if an earlier one still runs.
    func flush(_ body: @escaping @Sendable () -> Void, done: @escaping @Sendable () -> Void) {
        guard isFlushing.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
        else { return done() }
        // On a thread created at the start: at a lock the system may be out of threads.
        flushes.add { [self] in
            body()
            isFlushing.store(false, ordering: .sequentiallyConsistent)
            done()
        }
    }

    /// Runs work that waits for the disk and for which no thread waits.
    func run(_ work: @escaping @Sendable () -> Void) { writes.add(work) }

    /// Drops the kernel's pages of a node.
    func dropPages(of node: NodeID) {
        drops.add { [notifier] in
            // The only remaining error is a kernel without memory, and the pages of a refused write hold the writer's
            // own bytes.
            try? notifier()?.invalidate(node)
        }
    }

    /// Refuses a write(2) whose bytes are in the page cache already.
    ///
    /// The kernel has put whole pages there, where mappings can read them. It takes them back on an error, but a
    /// mapping that has faulted them in keeps them. So the pages are dropped before the answer, except a partially
    /// written last page: the kernel may hold that one locked until the answer.
    func refuse(_ reply: consuming Reply<Count>, to node: NodeID, offset: Int64, count: Int) {
        let owed = OwedReply(reply)
        let page: Int64 = 4096
        let start = (offset + page - 1) / page * page
        let end = (offset + Int64(count)) / page * page
        answers.add { [self] in
            if start < end { try? notifier()?.invalidate(node, offset: start, length: end - start) }
            owed.fail(.ENOKEY)
            dropPages(of: node)
        }
    }

    /// Slows down a kernel that repeats a refused read without pause, as it does for mappings that are mlocked or
    /// populated. Not used while an eviction runs, because the page stays locked for that time.
    func pauseAfterRefusal() {
        let count = refusals.add(1, ordering: .relaxed).newValue
        if count % Self.refusalsToAPause == 0 { usleep(2000) }
    }

    /// Low enough that the kernel's repetitions cost little processor time; high enough that a program which reads on
    /// after an error is hardly slowed down.
    private static let refusalsToAPause: UInt64 = 4
}
