/// How often programs may ask for a hold: a burst, and then one a second. Each one that is granted or refused is told
/// to all that monitor, or to the log, and a flood would push out what matters there.
struct HoldRate {
    static let burst = 32
    private static let interval = Duration.seconds(1)

    /// When the whole burst is there again.
    private var full = Duration.zero

    /// Whether a program may ask now; counts it if so.
    ///
    /// - Parameter now: of the boot clock.
    mutating func take(at now: Duration) -> Bool {
        let next = max(full, now) + Self.interval
        guard next - now <= Self.interval * Self.burst else { return false }
        full = next
        return true
    }
}
