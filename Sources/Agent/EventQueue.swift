import Posix
import Synchronization

/// Events that wait to be carried out: those of one user one after the other, so that an end never overtakes its
/// beginning. No user's events wait for another's.
///
/// Thread-safe. Of events that differ in nothing only the last one waits, so a queue has a bounded length.
final class EventQueue: Sendable {
    private struct Lane {
        var waiting: [(event: SourceEvent, carryOut: @Sendable (SourceEvent) -> Void)] = []
        var isServed = false
    }

    /// By user; nil for what concerns all. A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let lanes = Mutex<[UInt32?: Lane]>([:])

    /// Returns before the event is carried out, if a thread can be had.
    func add(_ event: SourceEvent, _ carryOut: @escaping @Sendable (SourceEvent) -> Void) {
        let needsThread = lanes.withLock { lanes in
            lanes[event.user, default: Lane()].waiting.removeAll { $0.event == event }
            lanes[event.user]?.waiting.append((event, carryOut))
            defer { lanes[event.user]?.isServed = true }
            return lanes[event.user]?.isServed == false
        }
        guard needsThread else { return }
        let serve: @Sendable () -> Void = { [self] in
            while let (event, carryOut) = next(of: event.user) { carryOut(event) }
        }
        do throws(Errno) { try startThread(serve) } catch { serve() }
    }

    /// Nil if none waits; then the next `add` needs a thread.
    private func next(of user: UInt32?) -> (event: SourceEvent, carryOut: @Sendable (SourceEvent) -> Void)? {
        lanes.withLock { lanes in
            guard lanes[user]?.waiting.isEmpty == false else {
                lanes[user] = nil
                return nil
            }
            return lanes[user]?.waiting.removeFirst()
        }
    }
}
