public import Posix

/// What the agent did to one mount.
public struct LockOutcome: Hashable, Sendable {
    public enum Result: Hashable, Sendable {
        /// The grace period has begun; seconds until the keys go.
        case locking(Double)
        /// The same, and programs hold the lock: seconds until the keys go at most.
        case held(Double, by: Printable)
        case locked
        /// It was locked before, or being locked.
        case wasLocked
        case takenBack
        /// The grace period goes on, and the mount will be locked.
        case notTakenBack(Printable)
        case failed(Printable)
    }

    public let mountPoint: Path
    public let result: Result

    var isFailed: Bool { if case .failed = result { true } else { false } }

    /// Whether the grace period goes on though the source does not want it any more.
    var isNotTakenBack: Bool { if case .notTakenBack = result { true } else { false } }

    /// The mount and, if something failed, why.
    var line: Printable {
        switch result {
        case .failed(let why), .notTakenBack(let why): "\(mountPoint): \(why)"
        case .held(_, let holder): "\(mountPoint), held by \(holder)"
        case .locking, .locked, .wasLocked, .takenBack: "\(mountPoint)"
        }
    }
}

extension [LockOutcome] {
    /// Another user may have any number of mounts.
    private static var mostNamed: Int { 10 }

    /// In one line for the report.
    var summary: Printable {
        guard !isEmpty else { return "no mount" }
        func count(_ isMeant: (LockOutcome.Result) -> Bool, _ what: Printable) -> Printable? {
            let number = filter { isMeant($0.result) }.count
            return number == 0 ? nil : "\(number) \(what)" as Printable
        }
        let counts = [
            count({ if case .locking = $0 { true } else { false } }, "locking"),
            count({ if case .held = $0 { true } else { false } }, "locking, held by programs"),
            count({ $0 == .locked }, "locked"), count({ $0 == .wasLocked }, "locked already"),
            count({ $0 == .takenBack }, "taken back"),
            count({ if case .notTakenBack = $0 { true } else { false } }, "not taken back"),
        ].compactMap(\.self)
        let failed = filter { $0.isFailed || $0.isNotTakenBack }
        let more: [Printable] = failed.count > Self.mostNamed ? ["\(failed.count - Self.mostNamed) more failed"] : []
        let failures = failed.prefix(Self.mostNamed).map(\.line) + more
        return (counts + failures).joined(separator: ", ")
    }
}
