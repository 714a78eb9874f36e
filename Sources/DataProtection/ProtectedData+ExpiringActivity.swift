internal import Control
internal import Failure
import Foundation
internal import Posix
import Synchronization

extension ProtectedData {
    /// Runs `block` while a lock waits for it, so that files of class `complete` stay usable until it returns.
    ///
    /// Returns at once; `block` runs on a thread of its own, with `false`. It is called a second time, on another
    /// thread, with `true`, if the files become unavailable before it has returned: the time is over, or a lock without
    /// a grace period came. If nothing can be held, it is called once, with `true`: the mount is locked, there is none,
    /// or the policy forbids holds. The process must go on until `block` returns.
    ///
    /// - Parameters:
    ///   - reason: for people, in the status and the log of the mount; at most 200 bytes count.
    ///   - time: how long a lock waits after its grace period at most; the policy may allow less. Not zero.
    ///
    /// Named after `ProcessInfo.performExpiringActivity(withReason:using:)`.
    public func performExpiringActivity(
        withReason reason: String, for time: Duration = .seconds(30), using block: @escaping @Sendable (Bool) -> Void
    ) {
        let run: @Sendable () -> Void = {
            guard let client = hold(time, reason) else { return block(true) }
            let activity = Activity(client)
            let wait: @Sendable () -> Void = { if activity.hasEndedEarly { block(true) } }
            do throws(Errno) { try startThread(wait) } catch {
                // The end could not be told.
                client.disconnect()
                return block(true)
            }
            // If the hold has ended by now, the block learns it at once, and nothing else.
            guard activity.begin() else { return block(true) }
            block(false)
            activity.finish()
        }
        do throws(Errno) { try startThread(run) } catch { block(true) }
    }

    /// A connection that holds the lock; nil if nothing can be held.
    private func hold(_ time: Duration, _ reason: String) -> ControlClient? {
        guard let path = try? url.protectedPath, let item = try? ProtectedItem(path: path) else { return nil }
        let parts = time.components
        let seconds = Double(parts.seconds) + Double(parts.attoseconds) / 1e18
        let program = CommandLine.arguments.first?.split(separator: "/").last.map { String($0) }
        do throws(Failure) {
            _ = try item.client.hold(seconds: seconds, command: program, because: reason)
            return item.client
        } catch { return nil }
    }
}

/// A hold, and how far the block is that needs it.
private final class Activity: Sendable {
    private enum Step { case waiting, ended, running, finished }

    private let client: ControlClient
    private let step = Mutex(Step.waiting)

    init(_ client: ControlClient) { self.client = client }

    /// Whether the block may run: the hold lasts.
    func begin() -> Bool {
        step.withLock { step in
            guard step == .waiting else { return false }
            step = .running
            return true
        }
    }

    /// Ends the hold.
    func finish() {
        step.withLock { $0 = .finished }
        client.disconnect()
    }

    /// Waits for the end of the hold. Whether that has come while the block runs.
    var hasEndedEarly: Bool {
        // Also if the daemon has ended: then nothing can be used any more.
        _ = try? client.endOfHold()
        return step.withLock { step in
            if step == .waiting { step = .ended }
            return step == .running
        }
    }
}
