import DataProtection
import Foundation

/// An expiring activity that lasts until it is told to finish, and the calls of its block.
final class RecordedActivity: Sendable {
    private let events = RecordedCalls()

    func begin(_ data: ProtectedData, _ time: Duration) {
        events.reset()
        data.performExpiringActivity(withReason: "a test", for: time) { [events] isExpired in
            events.add(isExpired ? "expired" : "began")
            if !isExpired { events.waitUntilFinished() }
        }
    }

    /// The calls, when there are as many as this, or at the latest after 20 seconds.
    func calls(_ count: Int) -> String { events.calls(count) }

    func finish() { events.finish() }
}

/// Guarded by its condition.
private final class RecordedCalls: @unchecked Sendable {
    private let condition = NSCondition()
    private var calls: [String] = []
    private var isFinished = false

    func reset() { change { ($0.calls, $0.isFinished) = ([], false) } }

    func add(_ call: String) { change { $0.calls.append(call) } }

    func finish() { change { $0.isFinished = true } }

    func waitUntilFinished() {
        condition.lock()
        while !isFinished { condition.wait() }
        condition.unlock()
    }

    func calls(_ count: Int) -> String {
        let end = Date.now + 20
        condition.lock()
        defer { condition.unlock() }
        while calls.count < count, condition.wait(until: end) {}
        return calls.joined(separator: " ")
    }

    private func change(_ body: (RecordedCalls) -> Void) {
        condition.lock()
        body(self)
        condition.broadcast()
        condition.unlock()
    }
}
