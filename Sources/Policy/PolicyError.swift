/// Why a policy cannot be used. Then every operation that a policy can forbid must be refused, because its rules are
/// unknown.
public struct PolicyError: Error, Hashable, Sendable, CustomStringConvertible {
    public let path: String
    /// Counted from 1; nil if the error concerns the whole file.
    public let line: Int?
    /// Without a capital at the beginning and a full stop at the end.
    public let problem: String

    init(_ path: String, line: Int? = nil, _ problem: String) {
        self.path = path
        self.line = line
        self.problem = problem
    }

    /// Such as "/etc/latchkey/policy.toml, line 4: there is no rule longest-garce".
    public var description: String { path + (line.map { ", line \($0)" } ?? "") + ": " + problem }
}
