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

        /// Requests that the kernel sends while it walks a path: the request that the system call is about follows.
        private static let underWay: Set<UInt32> = [
            FUSE_LOOKUP.rawValue, FUSE_GETATTR.rawValue, FUSE_GETXATTR.rawValue, FUSE_ACCESS.rawValue,
            UInt32(LK_FUSE_STATX),
        ]

        /// Whether an answer other than ESTALE ends the system call.
        func endsCall(failing: Bool) -> Bool {
            failing && opcode == FUSE_LOOKUP.rawValue || !Self.underWay.contains(opcode)
        }
    }

    /// The bound of the list: threads that never repeat their call leave their entries behind.
    static let most = 256
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let threads = Mutex<[Int32]>([])
    /// The number of entries. It is almost always 0, and then no thread takes the lock.
    private let count = Atomic<Int>(0)

    /// The error to answer instead of `error`.
    func answer(to call: Call, _ error: Errno) -> Errno {
        guard error == .ESTALE else {
            if isAsked, call.endsCall(failing: true) { forget(call.thread) }
            return error
        }
        return change { threads in
            if let index = threads.firstIndex(of: call.thread) {
                threads.remove(at: index)
                return .ENOENT
            }
            if threads.count == Self.most { threads.removeFirst() }
            threads.append(call.thread)
            return .ESTALE
        }
    }

    /// The request was answered without an error.
    func succeeded(_ call: Call) {
        if isAsked, call.endsCall(failing: false) { forget(call.thread) }
    }

    private var isAsked: Bool { count.load(ordering: .acquiring) != 0 }

    private func forget(_ thread: Int32) {
        change { $0.removeAll { $0 == thread } }
    }

    private func change<Result: Sendable>(_ body: (inout [Int32]) -> Result) -> Result {
        threads.withLock { threads in
            defer { count.store(threads.count, ordering: .releasing) }
            return body(&threads)
        }
    }
}
