import Fuse
import Glibc
import Posix
import Synchronization

/// What is left to do about requests that came after the lock: on threads of its own, because it tells the kernel to
/// drop pages of inodes that requests are under way for.
///
/// Threads apart: dropping all pages of a file waits for the page that a write holds locked until its answer comes, so
/// it must never stand before an answer that is owed; and what has to be written waits for the disk.
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

    /// - Throws: why a thread cannot be made; then `stop` ends those that were.
    func start() throws(Errno) {
        for queue in [answers, drops, writes, flushes] { try queue.start() }
    }

    func stop() {
        for queue in [answers, drops, writes, flushes] { queue.stop() }
    }

    /// A request that was let in while the keys were being taken out brings a page into the kernel's cache, or has one
    /// that was dirty.
    func countPage() { pages.add(1, ordering: .relaxed) }

    /// How many have come so far.
    var pageCount: UInt64 { pages.load(ordering: .relaxed) }

    /// Runs `body` unless one runs already: what waits for a disk that does not answer must not become more and more.
    ///
    /// - Parameter done: called when it has ended; at once where an earlier one still runs.
    func flush(_ body: @escaping @Sendable () -> Void, done: @escaping @Sendable () -> Void) {
        guard isFlushing.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
        else { return done() }
        // On a thread that was made at the start: at a lock there may be none to be had.
        flushes.add { [self] in
            body()
            isFlushing.store(false, ordering: .sequentiallyConsistent)
            done()
        }
    }

    /// Runs something that waits for the disk, and that nobody waits for.
    func run(_ work: @escaping @Sendable () -> Void) { writes.add(work) }

    /// Drops the kernel's pages of a node.
    func dropPages(of node: NodeID) {
        drops.add { [notifier] in
            // The one error that is left is a kernel without memory; the pages of a refused write are the writer's
            // own.
            try? notifier()?.invalidate(node)
        }
    }

    /// Refuses a write(2) whose bytes lie in the page cache already.
    ///
    /// The kernel has put whole pages there, readable through a mapping, and takes them back when it hears the error;
    /// but a mapping that has seen them keeps them. So they are dropped first. Not the last page of which only a part
    /// is written: that one the kernel may hold locked until the answer comes.
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

    /// Slows down a kernel that asks again and again: a locked mapping that is mlocked or populated makes it repeat a
    /// refused read without a pause. Never while an eviction runs: the page stays locked for that time.
    func pauseAfterRefusal() {
        let count = refusals.add(1, ordering: .relaxed).newValue
        if count % Self.refusalsToAPause == 0 { usleep(2000) }
    }

    /// Few enough that a kernel that repeats itself takes no processor to speak of, and so many that a program which
    /// reads on behind an error is hardly slowed down.
    private static let refusalsToAPause: UInt64 = 4
}
