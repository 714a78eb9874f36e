import CFuse
import Posix
import Synchronization

/// The threads that were answered ESTALE and may repeat their call.
///
/// On ESTALE the kernel looks the path up again and repeats the call, but only once: a second ESTALE would reach the
/// program, which gets none from a local file system. So the second answer is ENOENT: the name led to a file that was
/// gone each time.
///
/// Thread-safe. Source: retry_estale in linux/namei.h; do_filp_open in fs/namei.c.
final class StaleAnswers: Sendable {
    /// A request, by the thread whose system call it belongs to.
    struct Call: Sendable {
        let thread: Int32
        let opcode: UInt32
        /// A hash of what a LOOKUP asks for; 0 in other requests, and if no thread is expected to repeat a call.
        var name: Int = 0

        /// Requests that the kernel sends while it walks a path: the request that the system call is about follows.
        private static let underWay: Set<UInt32> = [
            FUSE_LOOKUP.rawValue, FUSE_GETATTR.rawValue, FUSE_GETXATTR.rawValue, FUSE_ACCESS.rawValue,
            UInt32(LK_FUSE_STATX),
        ]

        /// Requests that the kernel also sends for a thread that is in another system call meanwhile: it reads ahead,
        /// writes pages back and closes files.
        private static let inBackground: Set<UInt32> = [
            FUSE_READ.rawValue, FUSE_WRITE.rawValue, FUSE_RELEASE.rawValue, FUSE_RELEASEDIR.rawValue,
        ]

        var isLookup: Bool { opcode == FUSE_LOOKUP.rawValue }
        var isInBackground: Bool { Self.inBackground.contains(opcode) }
        var isUnderWay: Bool { Self.underWay.contains(opcode) }
    }

    /// A thread that was answered ESTALE, and what it has asked since.
    private struct Repeating {
        let thread: Int32
        /// The name that a LOOKUP did not find. If that LOOKUP was to confirm a name that the kernel had kept, the
        /// kernel looks it up once more, in the same system call. Otherwise the call has ended.
        var missing: Int?

        /// Whether `call` can belong to the repeated system call.
        func covers(_ call: Call) -> Bool {
            missing.map { call.isLookup && call.name == $0 } ?? true
        }
    }

    /// The bound of the list: threads that never repeat their call leave their entries behind.
    static let most = 256
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let threads = Mutex<[Repeating]>([])
    /// The number of entries. It is almost always 0, and then no thread takes the lock.
    private let count = Atomic<Int>(0)

    /// Whether a thread may repeat its call.
    var isAsked: Bool { count.load(ordering: .acquiring) != 0 }

    /// The error to answer instead of `error`.
    func answer(to call: Call, _ error: Errno) -> Errno {
        guard error == .ESTALE else {
            note(call, failing: true)
            return error
        }
        return change { threads in
            if let index = threads.firstIndex(where: { $0.thread == call.thread }),
                threads.remove(at: index).covers(call)
            {
                return .ENOENT
            }
            if threads.count == Self.most { threads.removeFirst() }
            threads.append(Repeating(thread: call.thread))
            return .ESTALE
        }
    }

    /// The request was answered without an error.
    func succeeded(_ call: Call) { note(call, failing: false) }

    private func note(_ call: Call, failing: Bool) {
        guard isAsked, !call.isInBackground else { return }
        change { threads in
            guard let index = threads.firstIndex(where: { $0.thread == call.thread }) else { return }
            if !call.isUnderWay || !threads[index].covers(call) || failing && threads[index].missing != nil {
                threads.remove(at: index)
            } else if call.isLookup {
                threads[index].missing = failing ? call.name : nil
            }
        }
    }

    private func change<Result: Sendable>(_ body: (inout [Repeating]) -> Result) -> Result {
        threads.withLock { threads in
            defer { count.store(threads.count, ordering: .releasing) }
            return body(&threads)
        }
    }
}
