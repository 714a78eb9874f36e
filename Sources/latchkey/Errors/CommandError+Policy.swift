import Policy

extension CommandError {
    /// Why the policy cannot be used: nothing is done that it could forbid.
    init(_ error: PolicyError) {
        self.init(.failed, "the policy cannot be used: \(error)")
    }

    /// What the policy forbids.
    init(forbidden violation: Violation) {
        self.init(.failed, "\(violation)", try: "latchkey policy check")
    }
}
