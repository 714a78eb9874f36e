public import Crypto
import Format
import Glibc

extension Argon2Cost {
    /// The minimum for a new passcode: 19 MiB in 2 passes (OWASP's minimum for Argon2id).
    public static let minimum = Argon2Cost(memoryKiB: 19_456, passes: 2, lanes: 1)

    /// The cost that takes this machine about `duration`, and at least `minimum`.
    ///
    /// Memory is raised first, because it hinders parallel guessing: up to a quarter of the machine's memory and 1 GiB.
    /// Then passes are raised. Takes about as long as `duration` itself.
    public static func calibrated(for duration: Duration = .milliseconds(500)) throws(CryptoError) -> Argon2Cost {
        try calibrated(for: duration, memoryLimitKiB: memoryLimitKiB, lanes: defaultLanes) {
            cost throws(CryptoError) in
            let passcode = try Secret(count: 16)
            let salt = try Secret(count: 32)
            let clock = ContinuousClock()
            let start = clock.now
            _ = try Argon2id.derive(passcode, salt: salt, cost: cost, count: 32)
            return clock.now - start
        }
    }

    /// The same, with `measure` instead of the machine.
    static func calibrated(
        for duration: Duration, memoryLimitKiB: UInt32, lanes: UInt32,
        measure: (Argon2Cost) throws(CryptoError) -> Duration
    ) throws(CryptoError) -> Argon2Cost {
        let limit = max(memoryLimitKiB, minimum.memoryKiB)
        var cost = Argon2Cost(memoryKiB: min(65_536, limit), passes: minimum.passes, lanes: lanes)
        // The better of two: a machine that is busy for a moment must not weaken a vault permanently.
        let taken = min(try measure(cost), try measure(cost))
        guard taken > .zero else { return Argon2Cost(memoryKiB: limit, passes: cost.passes, lanes: lanes) }

        // The time is proportional to memory times passes.
        let memory = Double(cost.memoryKiB) * (duration / taken)
        let bounded = min(max(memory, Double(minimum.memoryKiB)), Double(limit))
        cost.memoryKiB = UInt32(bounded) / 1024 * 1024
        let passes = Double(cost.passes) * memory / bounded
        cost.passes = UInt32(min(max(passes, Double(minimum.passes)), Double(PasscodeSlot.passesRange.upperBound)))
        return cost
    }

    /// Whether the vault format allows this cost. `isEnough` says whether a new passcode may have it.
    var isInBounds: Bool {
        PasscodeSlot.memoryRange.contains(memoryKiB) && PasscodeSlot.passesRange.contains(passes)
            && PasscodeSlot.lanesRange.contains(lanes)
    }

    /// Whether a new passcode may have this cost.
    public var isEnough: Bool { isInBounds && passes >= Self.minimum.passes }

    private static var memoryLimitKiB: UInt32 {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let pageSize = sysconf(Int32(_SC_PAGESIZE))
        guard pages > 0, pageSize > 0 else { return minimum.memoryKiB }
        return UInt32(min(pages / 4 * (pageSize / 1024), 1 << 20))
    }

    private static var defaultLanes: UInt32 {
        UInt32(min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4))
    }
}
