/// When a file's contents can be read. The raw value is the byte on disk; a smaller one is stricter.
public enum ProtectionClass: UInt8, Sendable, CaseIterable, Comparable {
    case complete = 1
    case completeUnlessOpen = 2
    case completeUntilFirstUserAuthentication = 3
    case none = 4

    /// The extended attribute that shows and sets a file's class.
    public static let attributeName = "user.latchkey.class"

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    public func isStricter(than other: Self) -> Bool { self < other }

    /// The name in documents, and the value that getxattr(2) returns.
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

    /// The name on Apple's platforms.
    public var appleName: String {
        switch self {
        case .complete: "NSFileProtectionComplete"
        case .completeUnlessOpen: "NSFileProtectionCompleteUnlessOpen"
        case .completeUntilFirstUserAuthentication: "NSFileProtectionCompleteUntilFirstUserAuthentication"
        case .none: "NSFileProtectionNone"
        }
    }

    /// Parses a long name, a letter of either case, or an Apple name.
    public init?(attributeValue text: String) {
        guard
            let found = Self.allCases.first(where: {
                text == $0.name || text.uppercased() == $0.letter || text == $0.appleName
            })
        else { return nil }
        self = found
    }
}
