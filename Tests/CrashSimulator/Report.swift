/// A way in which a state violates the promise.
public struct Violation: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The vault does not open.
        case closed
        /// A directory does not open or cannot be listed.
        case directory
        /// An entry, a file or another, does not open.
        case entry
        /// The contents of a file cannot be read.
        case unreadable
        /// The names match no subset of the unfinished changes over the durable names.
        case names
        /// Bytes that were never there, or that are there no more.
        case contents
        /// stat(2) shows another file, or a length that the file never had.
        case summary
        /// A class, or an explicit mark, that the file never had.
        case protection
        /// A program's own check fails: SQLite's or git's.
        case program
        /// A file is taken for an older version than the machine has seen.
        case stale
        /// The opened vault refuses a change.
        case stuck
    }

    public let kind: Kind
    public let what: String

    public init(_ kind: Kind, _ what: String) {
        self.kind = kind
        self.what = what
    }
}

/// The result of a simulation.
public struct Report: Sendable, CustomStringConvertible {
    public internal(set) var crashes = 0
    /// The crashes of which every state was made.
    public internal(set) var wholeCrashes = 0
    public internal(set) var states = 0
    /// The number of states that violate the promise in each way; a state may count several times.
    public internal(set) var counts: [Violation.Kind: Int] = [:]
    public internal(set) var badStates = 0
    /// The first few violations.
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
