/// A program that wants class A to stay for some time after a lock; the type `LockHold` of `io.latchkey`.
public struct Hold: Codable, Hashable, Sendable {
    /// The process that has asked for it, and its user, as the kernel says. The process is 0 if it is in another PID
    /// namespace.
    public var pid: Int32
    public var uid: UInt32
    /// What it runs, as it says itself.
    public var command: String?
    /// Why, as it says itself.
    public var because: String?
    /// Seconds that it delays an eviction at most, from the end of the grace period.
    public var seconds: Double

    /// The most bytes of each text.
    static let longestText = 200

    public init(pid: Int32, uid: UInt32, command: String? = nil, because: String? = nil, seconds: Double) {
        self.pid = pid
        self.uid = uid
        self.command = command
        self.because = because
        self.seconds = seconds
    }

    /// The same with texts and numbers within bounds.
    package var bounded: Hold {
        var hold = self
        hold.command = command.map(Self.bounded)
        hold.because = because.map(Self.bounded)
        hold.seconds = min(max(seconds, 0), 1e6)
        return hold
    }

    private static func bounded(_ text: String) -> String {
        guard text.utf8.count > longestText else { return text }
        var cut = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= longestText else { break }
            cut.append(scalar)
        }
        return String(cut)
    }
}

extension Status {
    /// Seconds left of the grace period itself, without the holds: as long a lock can be taken back. Zero when it is
    /// over, nil unless a lock is under way.
    public var ownGraceRemaining: Double? {
        // A hold counts from the end of the grace period.
        graceRemaining.map { max(0, $0 - (holds?.map(\.seconds).max() ?? 0)) }
    }
}

/// Why a hold has ended before its client let it go.
public enum HoldEnd: String, Codable, Hashable, Sendable {
    /// A lock without a grace period has taken the keys.
    case locked
    /// The lock has waited for it as long as it may.
    case timeOver = "time-over"
    /// The mount was unmounted while programs use its files.
    case detached
}
