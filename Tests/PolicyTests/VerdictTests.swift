import Format
import Testing

@testable import Policy

/// What breaks which rule, and what is said of it.
@Suite struct VerdictTests {
    private static let path = PolicyTests.path

    private func policy() throws -> Policy { try Policy(parsing: PolicyTests.whole, path: Self.path) }

    /// Facts that just satisfy every rule.
    private var good: Facts {
        var facts = Facts()
        facts.passcodeScore = 3
        facts.defaultClass = .completeUnlessOpen
        facts.grace = 30
        facts.longestHold = 120
        facts.idleLock = .after(600)
        facts.forgetting = .after(72)
        facts.freshness = .warn
        facts.erasure = .after(10)
        facts.escrowKeys = [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 15, count: 32)]
        facts.deviceKey = .software
        return facts
    }

    @Test func whatIsKept() throws {
        let policy = try policy()
        #expect(policy.violations(of: good).isEmpty)
        #expect(policy.verdicts(on: good).map(\.outcome) == [Verdict.Outcome](repeating: .kept, count: 11) + [.unknown])
        var better = good
        better.passcodeScore = 4
        better.defaultClass = .complete
        better.grace = 0
        better.longestHold = 0
        better.idleLock = .after(1)
        better.forgetting = .after(1)
        better.freshness = .strict
        better.erasure = .after(1)
        better.deviceKey = .tpm2
        #expect(policy.violations(of: better).isEmpty)
    }

    @Test func whatIsNotKnownIsNotBroken() throws {
        let policy = try policy()
        #expect(policy.violations(of: Facts()).isEmpty)
        let verdicts = policy.verdicts(on: Facts())
        #expect(verdicts.map(\.rule) == RuleName.allCases)
        #expect(verdicts.map(\.line) == policy.statements.map(\.line))
        #expect(verdicts.allSatisfy { $0.outcome == .unknown })
    }

    private struct Case: Sendable {
        let rule: RuleName
        let line: Int
        let sentence: String
        let change: @Sendable (inout Facts) -> Void

        init(_ rule: RuleName, _ line: Int, _ sentence: String, _ change: @escaping @Sendable (inout Facts) -> Void) {
            (self.rule, self.line, self.sentence, self.change) = (rule, line, sentence, change)
        }
    }

    private static let cases = [
        Case(.minimumPasscodeStrength, 3, "a passcode of strength 2 is weaker than the 3") { $0.passcodeScore = 2 },
        Case(.longestGrace, 6, "the grace of 31 seconds is longer than the 30") { $0.grace = 31 },
        Case(.longestHold, 7, "a hold of 121 seconds is longer than the 120") { $0.longestHold = 121 },
        Case(.lockWhenIdleAfter, 8, "locking after 601 seconds without use is later than after the 600") {
            $0.idleLock = .after(601)
        },
        Case(.lockWhenIdleAfter, 8, "the mount never locks by itself, and not after the 600 seconds without use") {
            $0.idleLock = .never
        },
        Case(.forgetAfter, 9, "closing class C after 73 hours locked is later than after the 72") {
            $0.forgetting = .after(73)
        },
        Case(.forgetAfter, 9, "the mount never closes class C, and not after the 72 hours locked") {
            $0.forgetting = .never
        },
        Case(.freshness, 10, "the freshness off is weaker than the warn") { $0.freshness = .off },
        Case(.eraseAfter, 11, "erasing the vault after 11 wrong passcodes is later than after the 10") {
            $0.erasure = .after(11)
        },
        Case(.eraseAfter, 11, "the vault is never erased, and not after the 10 wrong passcodes") {
            $0.erasure = .never
        },
        Case(.requiredEscrowKey, 12, "the vault has no slot for the escrow key") { $0.escrowKeys = [] },
        Case(.requiredEscrowKey, 12, "the vault has no slot for the escrow key") {
            $0.escrowKeys = [[UInt8](repeating: 14, count: 32)]
        },
    ]

    @Test(arguments: cases.indices) func whatIsBroken(index: Int) throws {
        let broken = Self.cases[index]
        var facts = good
        broken.change(&facts)
        let violations = try policy().violations(of: facts)
        #expect(violations.map(\.rule) == [broken.rule])
        #expect(violations.map(\.line) == [broken.line])
        #expect(violations.map(\.description) == ["\(broken.sentence) of \(Self.path), line \(broken.line)"])
    }

    /// One weak default class may break two rules; each is reported, in the order of the lines.
    @Test func severalAtOnce() throws {
        var facts = good
        facts.defaultClass = ProtectionClass.none
        facts.grace = 60
        #expect(
            try policy().violations(of: facts).map(\.description) == [
                "the vault's default class none is weaker than the complete-unless-open of \(Self.path), line 4",
                "the vault's default class none is weaker than the complete-until-first-user-authentication of "
                    + "\(Self.path), line 5",
                "the grace of 60 seconds is longer than the 30 of \(Self.path), line 6",
            ])
        facts = good
        facts.defaultClass = .completeUntilFirstUserAuthentication
        #expect(try policy().violations(of: facts).map(\.rule) == [.defaultClass])
    }

    /// The machine's policy may allow more than the standard; another one only less.
    @Test(
        arguments: [
            (nil, nil, 900), (3600, nil, 3600), (60, nil, 60), (0, nil, 0), (nil, 3600, 900), (nil, 60, 60),
            (60, 3600, 60),
            (3600, 1800, 1800), (3600, 0, 0),
        ] as [(Int?, Int?, Int)])
    func theLongestHold(machines: Int?, others: Int?, expected: Int) throws {
        let policies = try [(machines, "p"), (others, "q")].map { seconds, path in
            try Policy(parsing: seconds.map { "longest-hold = \($0)" } ?? "", path: path)
        }
        let policy = PolicyInForce(policies)
        #expect(policy.longestHold == expected)
        let path = machines == 0 ? "p" : "q"
        let reason = "a hold of 1 second is longer than the 0 of \(path), line 1"
        #expect(policy.violationOfHolding?.description == (expected == 0 ? reason : nil))
        #expect(PolicyInForce().longestHold == 900)
    }

    @Test func deviceKeys() throws {
        let policy = try Policy(parsing: "allowed-device-keys = ['tpm2']", path: "p")
        #expect(
            policy.violations(of: good).map(\.description) == [
                "the device key is of the kind software, which is not among those of p, line 1"
            ])
    }

    /// Every choice of a mount with every demand, and what is chosen where several policies demand something.
    @Test(arguments: FreshnessLevel.allCases, [FreshnessLevel.warn, .strict])
    func olderFiles(found: FreshnessLevel, least: FreshnessLevel) throws {
        let policy = try Policy(parsing: "\nfreshness = '\(least.rawValue)'", path: "p")
        var facts = Facts()
        facts.freshness = found
        let isKept = found == .strict || found == least
        let broken = "the freshness \(found.rawValue) is weaker than the \(least.rawValue) of p, line 2"
        #expect(policy.violations(of: facts).map(\.description) == (isKept ? [] : [broken]))
        let other = try Policy(parsing: "freshness = 'warn'", path: "q")
        #expect(PolicyInForce([other, policy, Policy(path: "r")]).freshness == least)
        #expect(PolicyInForce([Policy(path: "r")]).freshness == nil)
    }

    @Test(arguments: ProtectionClass.allCases, ProtectionClass.allCases)
    func settingAClass(least: ProtectionClass, set: ProtectionClass) throws {
        let policy = try Policy(parsing: "\nminimum-class = '\(least.letter)'", path: "p")
        #expect(policy.allows(setting: set) == (set <= least))
        let expected = "the class \(set.name) is weaker than the \(least.name) of p, line 2"
        #expect(policy.violation(setting: set)?.description == (set <= least ? nil : expected))
    }

    /// The default class is no lower bound for a class that is set by hand.
    @Test func theDefaultClassForbidsNothing() throws {
        let policy = try Policy(parsing: "default-class = 'A'", path: "p")
        #expect(policy.allows(setting: .none))
    }

    /// A program that fails to read the key's file refuses every vault, rather than none.
    @Test func anUnreadEscrowKeyMatchesNoSlot() throws {
        let policy = try Policy(parsing: "required-escrow-key = '/etc/escrow.pem'", path: "p")
        #expect(policy.violations(of: good).map(\.rule) == [.requiredEscrowKey])
    }
}
