/// Why a policy cannot be used. Nothing may be done then that a policy has a say in: what it would have forbidden is not known.
public struct PolicyError: Error, Hashable, Sendable, CustomStringConvertible {
    public let path: String
    /// The first line is 1; nil for what concerns the file as a whole.
    public let line: Int?
    /// No capital at the beginning, no full stop at the end.
    public let problem: String

    init(_ path: String, line: Int? = nil, _ problem: String) {
        self.path = path
        self.line = line
        self.problem = problem
    }

    /// Such as "/etc/latchkey/policy.toml, line 4: there is no rule longest-garce".
    public var description: String { path + (line.map { ", line \($0)" } ?? "") + ": " + problem }
}
