public import Format

extension Policy {
    /// The broken rules, in the order of their lines. A rule about an unknown fact is not broken.
    public func violations(of facts: Facts) -> [Violation] {
        verdicts(on: facts).compactMap { verdict in
            if case .broken(let violation) = verdict.outcome { violation } else { nil }
        }
    }

    /// The verdict of each rule of the policy, in the order of their lines.
    public func verdicts(on facts: Facts) -> [Verdict] {
        let verdicts = [
            verdict(.minimumPasscodeStrength, minimumPasscodeStrength, facts.passcodeScore) { least, score in
                score < least ? "a passcode of strength \(score) is weaker than the \(least)" : nil
            },
            verdict(.defaultClass, defaultClass, facts.defaultClass) { least, found in
                least.isStricter(than: found)
                    ? "the vault's default class \(found.name) is weaker than the \(least.name)" : nil
            },
            verdict(.minimumClass, minimumClass, facts.defaultClass) { least, found in
                least.isStricter(than: found)
                    ? "the vault's default class \(found.name) is weaker than the \(least.name)" : nil
            },
            verdict(.longestGrace, longestGrace, facts.grace) { most, seconds in
                seconds > most ? "the grace of \(Self.seconds(seconds)) is longer than the \(most)" : nil
            },
            verdict(.longestHold, longestHold, facts.longestHold) { most, seconds in
                seconds > most ? "a hold of \(Self.seconds(seconds)) is longer than the \(most)" : nil
            },
            verdict(.lockWhenIdleAfter, lockWhenIdleAfter, facts.idleLock) { most, limit in
                switch limit {
                case .never: "the mount never locks by itself, and not after the \(Self.seconds(most)) without use"
                case .after(let seconds) where seconds > most:
                    "locking after \(Self.seconds(seconds)) without use is later than after the \(most)"
                case .after: nil
                }
            },
            verdict(.forgetAfter, forgetAfter, facts.forgetting) { most, limit in
                switch limit {
                case .never: "the mount never closes class C, and not after the \(Self.hours(most)) locked"
                case .after(let hours) where hours > most:
                    "closing class C after \(Self.hours(hours)) locked is later than after the \(most)"
                case .after: nil
                }
            },
            verdict(.freshness, freshness, facts.freshness) { least, found in
                found < least ? "the freshness \(found.rawValue) is weaker than the \(least.rawValue)" : nil
            },
            verdict(.eraseAfter, eraseAfter, facts.erasure) { most, limit in
                switch limit {
                case .never: "the vault is never erased, and not after the \(Self.passcodes(most))"
                case .after(let count) where count > most:
                    "erasing the vault after \(Self.passcodes(count)) is later than after the \(most)"
                case .after: nil
                }
            },
            verdict(.requiredEscrowKey, requiredEscrowKey, facts.escrowKeys) { required, keys in
                // A required key whose file has not been read matches no slot: the verdict is a violation.
                if case .key(let key) = required, keys.contains(key) { return nil }
                return "the vault has no slot for the escrow key"
            },
            verdict(.allowedDeviceKeys, allowedDeviceKeys, facts.deviceKey) { allowed, kind in
                allowed.contains(kind)
                    ? nil : "the device key is of the kind \(kind.rawValue), which is not among those"
            },
            // A fact of the agent at each event, and not of a vault.
            verdict(.requiredLockSources, requiredLockSources, Bool?.none) { _, _ in nil },
        ]
        return verdicts.compactMap(\.self).sorted { $0.line < $1.line }
    }

    /// Whether a file or folder may be given a class.
    public func allows(setting protection: ProtectionClass) -> Bool { violation(setting: protection) == nil }

    /// Why a file or folder may not be given a class; nil if it may.
    public func violation(setting protection: ProtectionClass) -> Violation? {
        guard let rule = minimumClass, rule.value.isStricter(than: protection) else { return nil }
        return violation(
            .minimumClass, rule.line, "the class \(protection.name) is weaker than the \(rule.value.name)")
    }

    /// - Parameter broken: what breaks the rule, so that "of FILE, line N" can follow; nil if it is kept.
    private func verdict<Value, Fact>(
        _ name: RuleName, _ rule: Rule<Value>?, _ fact: Fact?, broken: (Value, Fact) -> String?
    ) -> Verdict? {
        guard let rule else { return nil }
        let outcome: Verdict.Outcome =
            if let fact {
                broken(rule.value, fact).map { .broken(violation(name, rule.line, $0)) } ?? .kept
            } else { .unknown }
        return Verdict(rule: name, line: rule.line, outcome: outcome)
    }

    private func violation(_ name: RuleName, _ line: Int, _ what: String) -> Violation {
        Violation(rule: name, line: line, description: "\(what) of \(path), line \(line)")
    }

    static func seconds(_ count: Int) -> String { "\(count) second\(count == 1 ? "" : "s")" }

    static func hours(_ count: Int) -> String { "\(count) hour\(count == 1 ? "" : "s")" }

    static func passcodes(_ count: Int) -> String { "\(count) wrong passcode\(count == 1 ? "" : "s")" }
}
