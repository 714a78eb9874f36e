import Format

/// A rule as a sentence.
public struct Statement: Hashable, Sendable {
    public let rule: RuleName
    /// The line in the policy's file.
    public let line: Int
    public let sentence: String
}

extension Policy {
    /// The rules of the policy, in the order of their lines.
    public var statements: [Statement] {
        let statements = [
            statement(.minimumPasscodeStrength, minimumPasscodeStrength) { least in
                "A new passcode has a strength of \(least) or more, on the scale of zxcvbn from 0 to 4."
            },
            statement(.defaultClass, defaultClass) { least in
                "The default class of a vault is \(least.name) (\(least.letter))"
                    + "\(least == .complete ? "" : " or stricter")."
            },
            statement(.minimumClass, minimumClass) { least in
                "No file or folder is given a class that is weaker than \(least.name) (\(least.letter))."
            },
            statement(.longestGrace, longestGrace) { most in
                most == 0 ? "A mount has no grace." : "The grace of a mount is at most \(Self.seconds(most))."
            },
            statement(.longestHold, longestHold) { most in
                most == 0
                    ? "No program holds a lock."
                    : "A program holds a lock for at most \(Self.seconds(most)) after its grace."
            },
            statement(.lockWhenIdleAfter, lockWhenIdleAfter) { most in
                "A mount locks by itself after at most \(Self.seconds(most)) without use."
            },
            statement(.forgetAfter, forgetAfter) { most in
                "A mount closes class C as well after at most \(Self.hours(most)) locked."
            },
            statement(.freshness, freshness) { least in
                "A mount \(least == .strict ? "refuses" : "tells of") files that are older than this machine has seen."
            },
            statement(.eraseAfter, eraseAfter) { most in
                "A vault is erased after at most \(Self.passcodes(most))."
            },
            statement(.requiredEscrowKey, requiredEscrowKey) { key in
                switch key {
                case .key(let bytes): "A vault has a slot for the escrow key \(String(hexadecimal: bytes))."
                case .file(let path): "A vault has a slot for the escrow key in \(path)."
                }
            },
            statement(.allowedDeviceKeys, allowedDeviceKeys) { kinds in
                "A device key is of the kind \(kinds.map(\.rawValue).sorted().joined(separator: " or "))."
            },
            statement(.requiredLockSources, requiredLockSources) { sources in
                "No user switches these lock sources off: "
                    + "\(sources.map(\.rawValue).sorted().joined(separator: ", "))."
            },
        ]
        return statements.compactMap(\.self).sorted { $0.line < $1.line }
    }

    private func statement<Value>(
        _ name: RuleName, _ rule: Rule<Value>?, _ sentence: (Value) -> String
    ) -> Statement? {
        rule.map { Statement(rule: name, line: $0.line, sentence: sentence($0.value)) }
    }
}
