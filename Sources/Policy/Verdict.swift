/// The result of a rule for some facts.
public struct Verdict: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        case kept
        case broken(Violation)
        /// The fact is not known.
        case unknown
    }

    public let rule: RuleName
    /// The line in the policy's file.
    public let line: Int
    public let outcome: Outcome
}

/// The violation of a rule.
public struct Violation: Hashable, Sendable, CustomStringConvertible {
    public let rule: RuleName
    /// The line in the policy's file.
    public let line: Int
    /// With file and line, without a capital at the beginning and a full stop at the end: "the grace of 60 seconds is
    /// longer than the 30 of /etc/latchkey/policy.toml, line 4".
    public let description: String
}
