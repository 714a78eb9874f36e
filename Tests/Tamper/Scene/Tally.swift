/// The results of one row of the table.
public struct Tally: Sendable {
    public var tries = 0
    /// Everything that was read was as it was written.
    public var right = 0
    /// Something was refused, and everything else was right.
    public var refused = 0
    /// Exactly what docs/THREAT-MODEL.md says is not detected.
    public var documented = 0
    public var violations: [String] = []

    public init() {}

    /// - Parameter what: names the attempt, for a violation.
    public mutating func count(_ outcome: Outcome, _ what: @autoclosure () -> String) {
        tries += 1
        switch outcome {
        case .right: right += 1
        case .refused: refused += 1
        case .documented: documented += 1
        case .violation(let text): violations.append("\(what()): \(text)")
        }
    }

    public mutating func add(_ other: Tally) {
        tries += other.tries
        right += other.right
        refused += other.refused
        documented += other.documented
        violations += other.violations
    }

    public enum Outcome: Equatable, Sendable {
        case right
        case refused
        case documented
        case violation(String)
    }
}

/// What a row of the table may let through, in the words of docs/THREAT-MODEL.md.
public struct Documented: Sendable {
    public let deviation: Deviation
    /// The text on that page, word for word.
    public let words: String

    public init(_ deviation: Deviation, _ words: String) {
        self.deviation = deviation
        self.words = words
    }
}

extension Tally.Outcome {
    /// Judges what was seen at some paths: each must be what the oracle says, and what may be let through.
    public init(
        seen: [String: Seen], expected: (String) -> Seen, written: (String) -> Seen, documented: Documented?
    ) {
        var isRefused = false
        var deviates = false
        for (path, seen) in seen {
            if case .failed(let what) = seen {
                self = .violation("/\(path): \(what)")
                return
            }
            let expected = expected(path)
            guard seen == expected else {
                self = .violation("/\(path) is \(seen.summary), not \(expected.summary)")
                return
            }
            let comparison = Comparison(seen, written: written(path))
            guard comparison.deviation.isSubset(of: documented?.deviation ?? []) else {
                self = .violation("/\(path) is \(seen.summary), which was never written there")
                return
            }
            isRefused = isRefused || comparison.isRefused
            deviates = deviates || !comparison.deviation.isEmpty
        }
        self = deviates ? .documented : isRefused ? .refused : .right
    }
}

extension Seen {
    /// A short description.
    public var summary: String {
        switch self {
        case .missing: "missing"
        case .refused: "refused"
        case .link(let target): "a link to \(String(decoding: target, as: UTF8.self))"
        case .special: "a special file"
        case .failed(let what): what
        case .folder(let folder):
            "a folder of class \(folder.protection) with \(folder.names.count) names "
                + "and \(folder.attributes.count) attributes"
        case .file(let file):
            "a file of class \(file.protection), \(file.size) bytes, "
                + file.blocks.map { $0.map { "block \($0.prefix(4))" } ?? "EIO" }.joined(separator: ", ")
                + ", attributes \(file.attributes.mapValues { $0?.prefix(4) })"
        }
    }
}
