/// Everything that a program sees at a path of the mount.
public enum Seen: Equatable, Sendable {
    case missing
    /// EIO, with a reason for the log.
    case refused
    case file(SeenFile)
    case folder(SeenFolder)
    case link([UInt8])
    case special
    /// Neither an answer nor a proper refusal: another errno, no reason in the log, or contradictory answers.
    case failed(String)
}

public struct SeenFile: Equatable, Sendable {
    public var size: Int
    public var protection: SeenClass
    /// Block by block; nil is EIO.
    public var blocks: [[UInt8]?]
    /// Nil is EIO.
    public var attributes: [String: [UInt8]?]

    public init(size: Int, protection: SeenClass, blocks: [[UInt8]?], attributes: [String: [UInt8]?]) {
        self.size = size
        self.protection = protection
        self.blocks = blocks
        self.attributes = attributes
    }
}

public struct SeenFolder: Equatable, Sendable {
    public var protection: SeenClass
    public var names: Set<String>
    public var attributes: [String: [UInt8]?]

    public init(protection: SeenClass, names: Set<String>, attributes: [String: [UInt8]?]) {
        self.protection = protection
        self.names = names
        self.attributes = attributes
    }
}

/// A class as docs/FORMAT.md numbers them, and whether it is explicit.
public struct SeenClass: Equatable, Hashable, Sendable {
    public var code: UInt8
    public var isExplicit: Bool

    public init(_ code: UInt8, isExplicit: Bool) {
        self.code = code
        self.isExplicit = isExplicit
    }
}

/// How the seen object differs from the written one.
public struct Deviation: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The object is missing, or not listed.
    public static let missing = Deviation(rawValue: 1)
    /// Zeros instead of a block.
    public static let zeros = Deviation(rawValue: 2)
    /// Any other difference: contents, a class, a target, a removed name.
    public static let other = Deviation(rawValue: 4)
}

/// The comparison of what is seen with what was written: right bytes, EIO for a part, or deviations.
public struct Comparison: Equatable {
    public private(set) var isRefused = false
    public private(set) var deviation: Deviation = []

    public init(_ seen: Seen, written: Seen) {
        switch (seen, written) {
        case (.refused, _): isRefused = true
        case (.file(let seen), .file(let written)): compare(seen, written)
        case (.folder(let seen), .folder(let written)):
            if !seen.names.isSuperset(of: written.names) { deviation.insert(.missing) }
            if !seen.names.isSubset(of: written.names) || seen.protection != written.protection {
                deviation.insert(.other)
            }
            compare(seen.attributes, written.attributes)
        case (.missing, .missing): break
        case (.missing, _): deviation.insert(.missing)
        default: if seen != written { deviation.insert(.other) }
        }
    }

    private mutating func compare(_ seen: SeenFile, _ written: SeenFile) {
        if seen.size != written.size || seen.protection != written.protection { deviation.insert(.other) }
        for (index, block) in seen.blocks.enumerated() {
            guard let block else {
                isRefused = true
                continue
            }
            if index < written.blocks.count, block == written.blocks[index] { continue }
            deviation.insert(block.allSatisfy { $0 == 0 } ? .zeros : .other)
        }
        compare(seen.attributes, written.attributes)
    }

    private mutating func compare(_ seen: [String: [UInt8]?], _ written: [String: [UInt8]?]) {
        for name in written.keys where seen[name] == nil { deviation.insert(.missing) }
        for (name, value) in seen {
            if value == nil { isRefused = true } else if written[name] != .some(value) { deviation.insert(.other) }
        }
    }
}
