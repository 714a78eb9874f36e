/// What a rule says to some facts.
public struct Verdict: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        case kept
        case broken(Violation)
        /// The facts do not tell.
        case unknown
    }

    public let rule: RuleName
    /// Of the policy's file.
    public let line: Int
    public let outcome: Outcome
}

/// What breaks a rule.
public struct Violation: Hashable, Sendable, CustomStringConvertible {
    public let rule: RuleName
    /// Of the policy's file.
    public let line: Int
    /// With file and line, no capital at the beginning, no full stop at the end: "the grace of 60 seconds is longer than the 30
    /// of /etc/latchkey/policy.toml, line 4".
    public let description: String
}
