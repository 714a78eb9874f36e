import Posix

/// How often, and after which pauses, a call that changes nothing is made again: within a second in all.
struct StoreRepetition {
    /// In microseconds.
    private static let pauses: [UInt32] = [50_000, 200_000, 750_000]

    /// What file systems of networks answer while their server is away, or while they look for it.
    private static let passing: Set<Errno> = [.EIO, .EINTR, .ETIMEDOUT, .ECONNRESET, .ECONNREFUSED]

    private var count = 0
    private var wasStale = false

    init() {}

    /// The pause before the next attempt, in microseconds; nil if the error is to be reported.
    mutating func pause(after error: Errno) -> UInt32? {
        // The name leads to another file by now, so the kernel looks it up anew. An open file that is gone stays gone.
        if error == .ESTALE, !wasStale {
            wasStale = true
            return 0
        }
        guard Self.passing.contains(error), count < Self.pauses.count else { return nil }
        defer { count += 1 }
        return Self.pauses[count]
    }
}
