import Fuse
import Posix
import Synchronization

/// A reply that another thread gives, or one of several: the first that asks for it.
final class OwedReply<Value>: Sendable {
    private let reply: Mutex<Reply<Value>?>

    init(_ reply: consuming Reply<Value>) { self.reply = Mutex(consume reply) }

    /// Nil for all but the first.
    func take() -> Reply<Value>? { reply.withLock { $0.take() } }

    func fail(_ errno: Errno) { take()?.fail(errno) }

    /// See `Reply.isInterrupted`; false once it was taken.
    var isInterrupted: Bool {
        reply.withLock { reply in
            switch reply {
            case .some(let reply): reply.isInterrupted
            case .none: false
            }
        }
    }

    /// See `Reply.announceInterrupt`.
    func announceInterrupt() {
        reply.withLock { reply in
            switch reply {
            case .some(let reply): reply.announceInterrupt()
            case .none: break
            }
        }
    }
}
