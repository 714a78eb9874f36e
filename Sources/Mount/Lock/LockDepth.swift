public import Format

/// Which classes a lock closes.
public enum LockDepth: Int, Comparable, Sendable {
    /// A, and B except for its open files.
    case strict
    /// C as well, with its open files, so that all is as before the first unlock.
    case deep

    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// The classes whose keys a lock of this depth wipes.
    public var classes: [ProtectionClass] {
        let strict: [ProtectionClass] = [.complete, .completeUnlessOpen]
        return self == .deep ? strict + [.completeUntilFirstUserAuthentication] : strict
    }
}
