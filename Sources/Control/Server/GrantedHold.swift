public import Failure
import Posix
import Synchronization

/// What ends a hold before its client does. Thread-safe.
public final class HoldEnding: Sendable {
    /// A leaf: no other lock is taken under it. Lock order: docs/ARCHITECTURE.md.
    private let reason = Mutex<HoldEnd?>(nil)
    let wakeup: Wakeup

    public init() throws(Failure) {
        do { wakeup = try Wakeup() } catch { throw .io(error, doing: "make an eventfd") }
    }

    /// Ends the hold. Only the first reason counts.
    public func end(_ end: HoldEnd) {
        reason.withLock { $0 = $0 ?? end }
        wakeup.signal()
    }

    /// Nil while the hold lasts.
    public var end: HoldEnd? { reason.withLock { $0 } }
}

/// A lock waits for it until `release`, or until its ending comes.
public struct GrantedHold: Sendable {
    /// What was granted: at most what was asked for.
    public let seconds: Double
    let ending: HoldEnding
    let release: @Sendable () -> Void

    /// - Parameter release: called once, by the connection that has asked for it, when that ends.
    public init(seconds: Double, ending: HoldEnding, release: @escaping @Sendable () -> Void) {
        self.seconds = seconds
        self.ending = ending
        self.release = release
    }
}
