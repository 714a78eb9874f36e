/// One way in which a state is not what was promised.
public struct Violation: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The vault does not open.
        case closed
        /// A directory cannot be opened or listed.
        case directory
        /// A file cannot be opened, or something that is no file.
        case entry
        /// What is in a file cannot be read.
        case unreadable
        /// The names are not what any part of the unfinished changes makes of the durable ones.
        case names
        /// Bytes that were never there, or not any more.
        case contents
        /// stat(2) tells of another file, or of a length that it never had.
        case summary
        /// A class, or the mark of one, that the file never had.
        case protection
        /// What a program's own check says: of SQLite, of git.
        case program
        /// The vault that opened does not take a change.
        case stuck
    }

    public let kind: Kind
    public let what: String

    public init(_ kind: Kind, _ what: String) {
        self.kind = kind
        self.what = what
    }
}

/// What a simulation has found.
public struct Report: Sendable, CustomStringConvertible {
    public internal(set) var crashes = 0
    /// The crashes of which every state was made.
    public internal(set) var wholeCrashes = 0
    public internal(set) var states = 0
    /// How many states violate the promise in each way; a state may in several.
    public internal(set) var counts: [Violation.Kind: Int] = [:]
    public internal(set) var badStates = 0
    /// The first few.
    public internal(set) var examples: [String] = []

    public init() {}

    public mutating func add(_ violations: [Violation], at crash: Int) {
        states += 1
        guard !violations.isEmpty else { return }
        badStates += 1
        for kind in Set(violations.map(\.kind)) {
            if counts[kind, default: 0] < 3 {
                let first = violations.first { $0.kind == kind }!
                examples.append("crash \(crash): \(kind.rawValue): \(first.what)")
            }
            counts[kind, default: 0] += 1
        }
    }

    public static func + (left: Report, right: Report) -> Report {
        var sum = left
        sum.crashes += right.crashes
        sum.wholeCrashes += right.wholeCrashes
        sum.states += right.states
        sum.badStates += right.badStates
        sum.counts.merge(right.counts, uniquingKeysWith: +)
        sum.examples += right.examples
        return sum
    }

    public var description: String {
        let kinds = Violation.Kind.allCases.compactMap { kind in counts[kind].map { "\(kind.rawValue) \($0)" } }
        return "\(states) states of \(crashes) crashes (\(wholeCrashes) with all their states), \(badStates) violate"
            + (kinds.isEmpty ? "" : ": " + kinds.joined(separator: ", "))
    }
}
