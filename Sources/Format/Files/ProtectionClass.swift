/// When a file's contents can be read; the raw value is the byte on disk. Ordered: a smaller one is stricter.
public enum ProtectionClass: UInt8, Sendable, CaseIterable, Comparable {
    case complete = 1
    case completeUnlessOpen = 2
    case completeUntilFirstUserAuthentication = 3
    case none = 4

    /// The extended attribute under which the class of a file is read and set.
    public static let attributeName = "user.latchkey.class"

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    public func isStricter(than other: Self) -> Bool { self < other }

    /// The long name, as getfattr answers it.
    public var name: String {
        switch self {
        case .complete: "complete"
        case .completeUnlessOpen: "complete-unless-open"
        case .completeUntilFirstUserAuthentication: "complete-until-first-user-authentication"
        case .none: "none"
        }
    }

    /// A, B, C or D.
    public var letter: String {
        switch self {
        case .complete: "A"
        case .completeUnlessOpen: "B"
        case .completeUntilFirstUserAuthentication: "C"
        case .none: "D"
        }
    }

    /// The constant of Apple's platforms.
    public var appleName: String {
        switch self {
        case .complete: "NSFileProtectionComplete"
        case .completeUnlessOpen: "NSFileProtectionCompleteUnlessOpen"
        case .completeUntilFirstUserAuthentication: "NSFileProtectionCompleteUntilFirstUserAuthentication"
        case .none: "NSFileProtectionNone"
        }
    }

    /// The class that a person or program wrote: a long name, a letter of either case, or an Apple constant.
    public init?(attributeValue text: String) {
        guard
            let found = Self.allCases.first(where: {
                text == $0.name || text.uppercased() == $0.letter || text == $0.appleName
            })
        else { return nil }
        self = found
    }
}
