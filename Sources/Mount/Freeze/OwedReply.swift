import Fuse
import Posix
import Synchronization

/// A reply that another thread may give: only the first thread that takes it can answer.
final class OwedReply<Value>: Sendable {
    /// Lock order: docs/ARCHITECTURE.md.
    private let reply: Mutex<Reply<Value>?>

    init(_ reply: consuming Reply<Value>) { self.reply = Mutex(consume reply) }

    /// Nil for all callers but the first.
    func take() -> Reply<Value>? { reply.withLock { $0.take() } }

    func fail(_ errno: Errno) { take()?.fail(errno) }

    /// See `Reply.isInterrupted`; false after `take`.
    var isInterrupted: Bool {
        reply.withLock { reply in
            switch reply {
            case .some(let reply): reply.isInterrupted
            case .none: false
            }
        }
    }
}
