import Claims
import Glibc

/// How a process claims a vault against other machines, and what it does while it waits for the claim.
public struct ClaimOptions: Sendable {
    /// How long the process may change the vault without a look at its claim; nil for 15 seconds. With one, the claim
    /// is renewed on a local store too.
    public var lease: Duration?
    /// Whether to take the vault over without waiting whether another machine still uses it.
    public var takesOver = false
    /// Whether other machines work with the vault at the same time, under leases.
    public var isShared = false
    /// Whether to go on without a claim if none can be made.
    public var isForgiving = false
    /// Called once if there is a wait: for which host, if its name is known, and how many seconds at most.
    public var waiting: @Sendable (String?, Int) -> Void = { _, _ in }
    /// Waits so long; false to give up.
    public var pause: @Sendable (Duration) -> Bool = { time in
        usleep(UInt32(clamping: Int(time / .microseconds(1))))
        return true
    }
    /// Called once, from a thread, when another machine has taken the vault over. Nothing can be written any more.
    public var lost: @Sendable () -> Void = {}

    public init() {}

    /// The lease of a mount that does not say another.
    public static let usualLease = ClaimTimes.usual.lease
}
