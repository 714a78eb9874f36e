/// The times of the protocol, all from how long a machine may work without a look.
public struct LeaseTimes: Hashable, Sendable {
    public let lease: Duration
    /// Between two questions what other machines wait for.
    public let poll: Duration

    public init(lease: Duration, poll: Duration? = nil) {
        self.lease = lease
        self.poll = poll ?? lease / 250
    }

    /// The same, after none has waited for anything for `calm`.
    public var idlePoll: Duration { poll * 5 }
    public var calm: Duration { poll * 50 }
    /// Between two looks.
    public var interval: Duration { lease / 3 }
    /// A change takes effect so long after its call has begun, at the latest.
    public var delay: Duration { lease * 5 / 3 }
    /// From the moment at which a machine's sign of life was seen to be missing to the first use of what it had: its
    /// last look began before that moment.
    public var settle: Duration { lease + delay }
    /// How long a lease is waited for. A machine that is gone takes `settle`, and its journal is to be replayed.
    public var patience: Duration { lease * 20 }
    /// How long a machine waits for the store to miss its own process that is gone: GlusterFS takes 42 s.
    public var patienceForMachine: Duration { lease * 10 }
}
