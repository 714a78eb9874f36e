import Posix

/// Decides when a mount has been unused for so long that it locks itself.
///
/// It looks at intervals whether the mount was used since the last look. Therefore it locks up to a tenth of the time
/// too early, never too late.
struct IdleWatch {
    /// How long the caller waits until the next look.
    let interval: Duration
    private let limit: Duration
    private var lastUse: Duration

    /// - Parameter now: of the boot clock: the time of a suspension counts as unused.
    init(limit: Duration, now: Duration) {
        self.limit = limit
        interval = max(limit / 20, .milliseconds(20))
        lastUse = now
    }

    /// Whether the mount must be locked now.
    mutating func look(wasUsed: Bool, isUnlocked: Bool, now: Duration) -> Bool {
        // A locked mount counts as used, so that the time starts at the unlock.
        if wasUsed || !isUnlocked { lastUse = now }
        return isUnlocked && now - lastUse >= limit - interval * 2
    }
}
