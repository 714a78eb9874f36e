/// The times of a claim, all from its lease.
///
/// A holder that has not looked at its claim for a lease makes no change before it has looked again. What one machine
/// writes, another sees within `visibility`; docs/CLAIMS.md says what that assumes.
public struct ClaimTimes: Hashable, Sendable {
    public let lease: Duration

    public init(lease: Duration) { self.lease = lease }

    /// The lease of a mount that does not say another.
    public static let usual = ClaimTimes(lease: .seconds(15))

    /// Between two looks at the holder's own claim.
    public var interval: Duration { lease / 3 }
    var visibility: Duration { lease * 5 / 3 }
    /// How long a claim must stay as it is until its holder counts as dead: the time to see a question, and to see the
    /// answer, which comes with the second look at the latest.
    public var watch: Duration { visibility + interval * 2 }
    /// From the next claim, which takes the place of that one, until the first change: by then the holder's lease is
    /// over, or it has seen the next claim.
    public var settle: Duration { visibility + lease }
    /// The longest that a machine waits for one that is dead.
    public var bound: Duration { watch + settle }
    /// How long changes wait for a look at the claim. A store that a network lies before may be gone for a while.
    func patience(isLocal: Bool) -> Duration { isLocal ? lease * 4 : max(lease * 4, .seconds(60)) }

    /// The longer of two leases: each side goes by its own.
    func longest(with lease: Duration) -> ClaimTimes { ClaimTimes(lease: max(self.lease, lease)) }
}
