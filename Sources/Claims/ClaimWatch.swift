/// Decides when a claim whose holder is silent may be taken over, and when the new holder may begin.
///
/// A pure machine: the caller looks at the folder again and again, and tells it what it sees and when. Times are of the
/// caller's own boot clock; no clock of another machine counts.
struct ClaimWatch: Sendable {
    enum Step: Hashable, Sendable {
        case wait
        /// The holder lives, or another process was faster.
        case refuse
        /// Make the next claim, with the state *taking*.
        case take
        /// The holder has released its claim: make the next one, and begin.
        case claim
        /// The claim that was taken is this process's: it may write now.
        case begin
    }

    /// What the caller sees.
    struct Sight: Hashable, Sendable {
        /// The newest epoch.
        var epoch: UInt64
        /// The bytes of the claim with that epoch; nil if they cannot be read now.
        var bytes: [UInt8]?
        /// Whether that claim is released.
        var isReleased: Bool
    }

    private enum Phase {
        case watching(since: Duration)
        case settling(since: Duration, epoch: UInt64)
    }

    private let times: ClaimTimes
    private var first: Sight
    private var phase: Phase

    init(_ first: Sight, _ times: ClaimTimes, now: Duration) {
        self.times = times
        self.first = first
        phase = .watching(since: now)
    }

    mutating func next(_ sight: Sight, now: Duration) -> Step {
        switch phase {
        case .watching(let since):
            if sight.isReleased { return .claim }
            if first.bytes == nil, sight.epoch == first.epoch, let bytes = sight.bytes {
                // The claim was being made. From now on it must stay as it is.
                first.bytes = bytes
                phase = .watching(since: now)
                return .wait
            }
            guard sight.epoch == first.epoch, sight.bytes == nil || sight.bytes == first.bytes else { return .refuse }
            return now - since < times.watch ? .wait : .take
        case .settling(let since, let epoch):
            guard sight.epoch == epoch else { return .refuse }
            return now - since < times.settle ? .wait : .begin
        }
    }

    /// The caller has made the next claim.
    mutating func tookOver(epoch: UInt64, now: Duration) { phase = .settling(since: now, epoch: epoch) }

    /// The longest time that is left.
    func left(now: Duration) -> Duration {
        switch phase {
        case .watching(let since): max(.zero, since + times.bound - now)
        case .settling(let since, _): max(.zero, since + times.settle - now)
        }
    }
}
