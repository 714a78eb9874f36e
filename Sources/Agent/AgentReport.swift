public import LockSources

/// What an agent is doing, as it writes it down for `latchkey status`.
public struct AgentReport: Codable, Hashable, Sendable {
    public struct Source: Codable, Hashable, Sendable {
        public var name: LockSource
        /// Whether the configuration leaves it on.
        public var isOn: Bool
        /// Why it cannot be heard; nil if it can.
        public var problem: String?
        /// When it was last heard, in seconds since 1970; nil if never.
        public var lastFired: Double?
        /// What came of that, in words.
        public var lastResult: String?

        public init(_ name: LockSource) {
            self.name = name
            isOn = true
        }

        private enum CodingKeys: String, CodingKey {
            case name
            case isOn = "on"
            case problem, lastFired, lastResult
        }
    }

    public var pid: Int32
    /// In seconds since 1970.
    public var started: Double
    public var version: String
    public var sources: [Source]

    public init(pid: Int32, started: Double, version: String) {
        self.pid = pid
        self.started = started
        self.version = version
        sources = LockSource.allCases.map { Source($0) }
    }

    public subscript(_ name: LockSource) -> Source {
        get { sources.first { $0.name == name } ?? Source(name) }
        set {
            if let index = sources.firstIndex(where: { $0.name == name }) { sources[index] = newValue }
        }
    }
}

extension LockSource: Codable {}
