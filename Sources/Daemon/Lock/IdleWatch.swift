import Posix

/// Tells when a mount has not been used for so long that it locks by itself.
///
/// It looks now and then whether there was a use since it looked last; so it locks up to a tenth of the time too early, never
/// too late.
struct IdleWatch {
    /// How long to wait until it looks again.
    let interval: Duration
    private let limit: Duration
    private var lastUse: Duration

    /// - Parameter now: of the boot clock: suspended machines are not used.
    init(limit: Duration, now: Duration) {
        self.limit = limit
        interval = max(limit / 20, .milliseconds(20))
        lastUse = now
    }

    /// Whether it is time to lock.
    mutating func look(wasUsed: Bool, isUnlocked: Bool, now: Duration) -> Bool {
        // Whoever unlocks uses it.
        if wasUsed || !isUnlocked { lastUse = now }
        return isUnlocked && now - lastUse >= limit - interval * 2
    }
}
