import Format
import Testing

@testable import Policy

/// Every rule, good and bad, with its line.
@Suite struct PolicyTests {
    static let path = "/etc/latchkey/policy.toml"
    static let digits = String(repeating: "0f", count: 32)

    private func policy(_ text: String) throws(PolicyError) -> Policy { try Policy(parsing: text, path: Self.path) }

    private func refusal(_ text: String) -> PolicyError? {
        do throws(PolicyError) { _ = try policy(text) } catch { return error }
        return nil
    }

    static let whole = """
        # The machines of the sales department

        minimum-passcode-strength = 3
        default-class = "complete-unless-open" # not C
        minimum-class = "C"
        longest-grace = 30
        longest-hold = 120
        lock-when-idle-after = 600
        forget-after = 72
        freshness = "warn"
        erase-after = 10
        required-escrow-key = "\(digits)"
        allowed-device-keys = [
            "tpm2",  # preferred
            "software",
        ]
        required-lock-sources = ["sleep"]
        """

    @Test(arguments: ["\n", "\r\n"]) func allRules(end: String) throws {
        let lines = Self.whole.split(separator: "\n", omittingEmptySubsequences: false)
        let policy = try policy(lines.joined(separator: end))
        #expect(policy.path == Self.path)
        #expect(policy.minimumPasscodeStrength == Rule(3, line: 3))
        #expect(policy.defaultClass == Rule(.completeUnlessOpen, line: 4))
        #expect(policy.minimumClass == Rule(.completeUntilFirstUserAuthentication, line: 5))
        #expect(policy.longestGrace == Rule(30, line: 6))
        #expect(policy.longestHold == Rule(120, line: 7))
        #expect(policy.lockWhenIdleAfter == Rule(600, line: 8))
        #expect(policy.forgetAfter == Rule(72, line: 9))
        #expect(policy.freshness == Rule(.warn, line: 10))
        #expect(policy.eraseAfter == Rule(10, line: 11))
        #expect(policy.requiredEscrowKey == Rule(.key([UInt8](repeating: 15, count: 32)), line: 12))
        #expect(policy.allowedDeviceKeys == Rule([.tpm2, .software], line: 13))
        #expect(policy.requiredLockSources == Rule([.sleep], line: 17))
        #expect(!policy.isEmpty)
        #expect(policy.statements.map(\.rule) == RuleName.allCases)
        #expect(policy.statements.map(\.line) == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17])
    }

    @Test func anEmptyPolicyDemandsNothing() throws {
        let policy = try policy("# nothing yet\n")
        #expect(policy.isEmpty && policy == Policy(path: Self.path))
        #expect(policy.statements.isEmpty && policy.violations(of: Facts()).isEmpty)
        #expect(ProtectionClass.allCases.allSatisfy { policy.allows(setting: $0) })
    }

    @Test(arguments: [
        "minimum-passcode-strength = 0", "minimum-passcode-strength = 4", "default-class = 'A'", "default-class = 'd'",
        "default-class = \"none\"", "default-class = 'NSFileProtectionComplete'", "minimum-class = 'complete'",
        "longest-grace = 0", "longest-grace = 3600", "longest-grace = 3_600", "lock-when-idle-after = 1",
        "lock-when-idle-after = 86400", "forget-after = 1", "forget-after = 8760", "freshness = 'warn'",
        "freshness = \"strict\"", "erase-after = 1",
        "erase-after = 1000",
        "required-escrow-key = '\(digits.uppercased())'", "required-escrow-key = '/etc/latchkey/escrow.pem'",
        "allowed-device-keys = ['tpm2']", "allowed-device-keys = ['software']",
        "allowed-device-keys = ['tpm2', 'tpm2']", "default-class = 'A'\nminimum-class = 'A'",
        "minimum-class = 'C'\ndefault-class = 'A'",
    ]) func isTaken(text: String) throws {
        let policy = try policy(text)
        #expect(!policy.isEmpty)
        #expect(policy.statements.first?.line == 1)
    }

    @Test(arguments: [
        "minimum-passcode-strength = 5", "minimum-passcode-strength = -1", "minimum-passcode-strength = '3'",
        "minimum-passcode-strength = true", "default-class = 'E'", "default-class = 1", "default-class = ''",
        "default-class = ['A']", "minimum-class = 'strict'", "minimum-class = 'Complete'", "minimum-class = false",
        "longest-grace = -1", "longest-grace = 3601", "longest-grace = '30'", "longest-grace = []",
        "lock-when-idle-after = 0", "lock-when-idle-after = 86401", "lock-when-idle-after = '1'", "erase-after = 0",
        "forget-after = 0", "forget-after = 8761", "forget-after = '3d'",
        "freshness = 'off'", "freshness = 'Strict'", "freshness = ''", "freshness = true", "freshness = ['warn']",
        "erase-after = 1001", "erase-after = 'never'", "required-escrow-key = 1", "required-escrow-key = ''",
        "required-escrow-key = '\(digits)0'", "required-escrow-key = '\(digits)00'",
        "required-escrow-key = '\(digits.dropLast())'", "required-escrow-key = '\(digits.dropLast())g'",
        "required-escrow-key = '\(digits.dropLast())é'", "required-escrow-key = 'escrow.pem'",
        "required-escrow-key = ['\(digits)']", "allowed-device-keys = 'tpm2'", "allowed-device-keys = []",
        "allowed-device-keys = ['tpm1']", "allowed-device-keys = ['tpm2', 'TPM2']", "allowed-device-keys = true",
        "longest-garce = 30", "Longest-Grace = 30", "longest_grace = 30", "policy = 1",
    ]) func isRefused(text: String) throws {
        let name = try #require(text.split(separator: " ").first)
        for (before, line) in [("", 1), ("# a\n\n", 3), ("\r\n# é\r\n\r\n", 4)] {
            let found = try #require(refusal(before + text + "\n# end"))
            #expect(found.line == line)
            #expect(found.problem.contains(name))
            #expect(found.description == "\(Self.path), line \(line): \(found.problem)")
        }
    }

    @Test func aRuleOnlyOnce() {
        #expect(refusal("erase-after = 10\n\nerase-after = 10")?.line == 3)
        #expect(refusal("erase-after = 10\nlongest-grace = 1\n[more]")?.line == 3)
    }

    /// What the policy makes init do, and what makes it refuse.
    @Test func theDefaultIsNotWeakerThanTheMinimum() {
        for text in ["minimum-class = 'B'\n\ndefault-class = 'C'", "\n\ndefault-class = 'D'\nminimum-class = 'A'"] {
            let found = refusal(text)
            #expect(found?.line == 3)
            #expect(found?.problem.hasPrefix("default-class is weaker than minimum-class in line ") == true)
        }
    }

    @Test func statementsAreSentences() throws {
        #expect(
            try policy(Self.whole).statements.map(\.sentence) == [
                "A new passcode has a strength of 3 or more, on the scale of zxcvbn from 0 to 4.",
                "The default class of a vault is complete-unless-open (B) or stricter.",
                "No file or folder is given a class that is weaker than complete-until-first-user-authentication (C).",
                "The grace of a mount is at most 30 seconds.",
                "A program holds a lock for at most 120 seconds after its grace.",
                "A mount locks by itself after at most 600 seconds without use.",
                "A mount closes class C as well after at most 72 hours locked.",
                "A mount tells of files that are older than this machine has seen.",
                "A vault is erased after at most 10 wrong passcodes.",
                "A vault has a slot for the escrow key \(Self.digits).",
                "A device key is of the kind software or tpm2.",
                "No user switches these lock sources off: sleep.",
            ])
        let others = try policy(
            """
            longest-grace = 0
            longest-hold = 0
            default-class = "A"
            freshness = "strict"
            erase-after = 1
            required-escrow-key = "/etc/escrow.pem"
            """)
        #expect(
            others.statements.map(\.sentence) == [
                "A mount has no grace.", "No program holds a lock.", "The default class of a vault is complete (A).",
                "A mount refuses files that are older than this machine has seen.",
                "A vault is erased after at most 1 wrong passcode.",
                "A vault has a slot for the escrow key in /etc/escrow.pem.",
            ])
    }
}
