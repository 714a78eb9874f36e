/// A daemon may be another user's, and answer with any number: all that are computed with have bounds.
extension Status {
    /// 30,000 years, in seconds.
    private static let longest = 1e12
    private static let longestInstance = 32
    /// As many as a daemon allows.
    private static let mostHolds = 64

    /// The same with numbers that can be computed with: times of at most 30,000 years, fractions from 0 to 1. An
    /// instance that is longer than a daemon's is none, and holds beyond the most that a daemon allows do not count.
    var bounded: Status {
        var status = self
        for time in [
            \Status.graceRemaining, \.deadline, \.lastLockDuration, \.freezeTimeout, \.changed,
            \.lockWhenIdle, \.forgetAfter, \.forgetTime, \.longestHold,
        ] as [WritableKeyPath<Status, Double?>] {
            status[keyPath: time] = self[keyPath: time].map { min(max($0, 0), Self.longest) }
        }
        if let instance, instance.utf8.count > Self.longestInstance { status.instance = nil }
        status.grace = min(max(grace, 0), Self.longest)
        status.holds = holds?.prefix(Self.mostHolds).map(\.bounded)
        if let rotation { status.rotation?.done = min(max(rotation.done, 0), 1) }
        if let moment = freshness?.moment { status.freshness?.moment = min(max(moment, 0), Self.longest) }
        if let refusals { status.refusals?.last = min(max(refusals.last, 0), Self.longest) }
        return status
    }
}

extension StatusReply {
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        status = try values.decode(Status.self, forKey: .status).bounded
    }
}

extension StatusChange {
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        event = try values.decodeIfPresent(Event.self, forKey: .event)
        status = try values.decode(Status.self, forKey: .status).bounded
    }
}
