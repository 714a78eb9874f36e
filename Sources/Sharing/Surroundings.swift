public import Posix

/// Time, and waiting for other threads of this machine.
public protocol Surroundings: AnyObject, Sendable {
    /// Of a clock that runs while the machine sleeps.
    var now: Duration { get }

    /// - Throws: when the mount ends.
    func pause(for time: Duration) throws(Errno)

    /// Returns once the condition holds. Another thread has changed something that it asks for when it calls `wakeAll`.
    ///
    /// - Throws: when the mount ends.
    func wait(until condition: () -> Bool) throws(Errno)

    func wakeAll()
}
