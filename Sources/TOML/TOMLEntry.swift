/// One `key = value` of the text, and the line of the key.
public struct TOMLEntry: Hashable, Sendable {
    public let key: String
    public let line: Int
    public let value: TOMLValue

    public init(key: String, line: Int, value: TOMLValue) {
        self.key = key
        self.line = line
        self.value = value
    }
}

public enum TOMLValue: Hashable, Sendable {
    case string(String)
    case integer(Int)
    case boolean(Bool)
    case strings([String])
}

/// A table with its header, such as `[vaults.work]`, and the line of the header.
public struct TOMLTable: Hashable, Sendable {
    /// The parts of the header: one or more.
    public let name: [String]
    public let line: Int
    public internal(set) var entries: [TOMLEntry] = []
}

/// The entries before the first table, and the tables, in the order of the text.
public struct TOMLDocument: Hashable, Sendable {
    public internal(set) var entries: [TOMLEntry] = []
    public internal(set) var tables: [TOMLTable] = []
}

public struct TOMLError: Error, Hashable, Sendable {
    /// Counted from 1.
    public let line: Int
    /// Without a capital at the beginning and a full stop at the end.
    public let problem: String

    public init(line: Int, problem: String) {
        self.line = line
        self.problem = problem
    }
}
