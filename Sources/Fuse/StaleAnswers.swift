import Posix
import Synchronization

/// Which threads have been answered ESTALE and may be asking again.
///
/// At ESTALE the kernel looks the path up again and repeats the call, but once only: a second ESTALE reaches the program,
/// where no local file system has it. Then the answer is ENOENT: the name led to a file that was gone each time.
///
/// Thread-safe. Source: retry_estale in linux/namei.h; do_filp_open in fs/namei.c.
final class StaleAnswers: Sendable {
    /// A call of a thread: the repeated one has the same number and operation.
    struct Call: Hashable {
        let thread: Int32
        let opcode: UInt32
    }

    /// Threads that never ask again leave theirs.
    static let most = 256
    private let calls = Mutex<[Call]>([])
    /// As many as there are: almost always none, and then nobody waits for the lock.
    private let count = Atomic<Int>(0)

    /// What to answer instead of `error`.
    func answer(to call: Call, _ error: Errno) -> Errno {
        guard error == .ESTALE else {
            // Looking the path up again has failed: the call is over.
            forget { $0.thread == call.thread }
            return error
        }
        return change { calls in
            if let index = calls.firstIndex(of: call) {
                calls.remove(at: index)
                return .ENOENT
            }
            if calls.count == Self.most { calls.removeFirst() }
            calls.append(call)
            return .ESTALE
        }
    }

    /// The call has been answered, so that it is not repeated.
    func succeeded(_ call: Call) {
        forget { $0 == call }
    }

    private func forget(_ isOver: (Call) -> Bool) {
        guard count.load(ordering: .acquiring) != 0 else { return }
        change { $0.removeAll(where: isOver) }
    }

    private func change<Result: Sendable>(_ body: (inout [Call]) -> Result) -> Result {
        calls.withLock { calls in
            defer { count.store(calls.count, ordering: .releasing) }
            return body(&calls)
        }
    }
}
