/// What this machine has just given up because another one waits for it: that one tries again before this one does.
///
/// Without it, two machines that read could keep a third one from writing for ever: each of the two takes its lease
/// again before the other one has given up its own. A value: `Leases` guards it.
struct LeaseTurns {
    private var ends: [LeaseObject: Duration] = [:]

    private static let most = 1024

    mutating func gaveUp(_ object: LeaseObject, at now: Duration, _ times: LeaseTimes) {
        if ends.count >= Self.most { ends = ends.filter { $0.value > now } }
        // Each machine tries again after each `poll`.
        ends[object] = now + times.poll * 2
    }

    /// How long this machine leaves the object to others; nil if it may take it now.
    mutating func wait(for object: LeaseObject, now: Duration) -> Duration? {
        guard let end = ends[object] else { return nil }
        if end > now { return end - now }
        ends[object] = nil
        return nil
    }
}
