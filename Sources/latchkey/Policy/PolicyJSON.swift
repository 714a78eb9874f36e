import Policy

/// A policy's rules, and whether a vault keeps them, for scripts.
struct PolicyJSON: Encodable {
    struct Rule: Encodable {
        let rule: String
        let line: Int
        let sentence: String
        /// Nil without a vault.
        let outcome: String?
        /// Why it is broken.
        let reason: String?
    }

    let policy: String
    let rules: [Rule]

    /// - Parameter facts: what is known of a vault; nil for the rules alone.
    init(_ policy: Policy, on facts: Facts?) {
        self.policy = policy.path
        let outcomes = facts.map { policy.verdicts(on: $0).map(\.outcome) }
        rules = policy.statements.enumerated().map { index, statement in
            let outcome = outcomes?[index]
            var reason: String?
            if case .broken(let violation)? = outcome { reason = violation.description }
            return Rule(
                rule: statement.rule.rawValue, line: statement.line, sentence: statement.sentence,
                outcome: outcome?.name, reason: reason)
        }
    }
}

extension Verdict.Outcome {
    fileprivate var name: String {
        switch self {
        case .kept: "kept"
        case .broken: "broken"
        case .unknown: "unknown"
        }
    }
}
