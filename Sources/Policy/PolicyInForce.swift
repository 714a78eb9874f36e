public import Format
public import LockSources

/// All policies that are in force: the machine's, and optionally one that the user names.
///
/// The latter can only make the rules stricter.
public struct PolicyInForce: Hashable, Sendable {
    public let policies: [Policy]

    public init(_ policies: [Policy] = []) { self.policies = policies }

    /// - Parameters:
    ///   - path: of a policy besides the machine's; the file must exist.
    ///   - decode: the 32 bytes of a public key in PEM text; nil if there is none.
    /// - Throws: if one of them cannot be used, because then its rules are unknown.
    public static func load(
        besides path: String?, _ decode: ([UInt8]) -> [UInt8]?
    ) throws(PolicyError) -> PolicyInForce {
        var policies = [try Policy.load().readingEscrowKey(decode)]
        if let path, path != Policy.standardPath {
            policies.append(try Policy.load(path: path, isRequired: true).readingEscrowKey(decode))
        }
        return PolicyInForce(policies)
    }

    public func violations(of facts: Facts) -> [Violation] { policies.flatMap { $0.violations(of: facts) } }

    /// Why a file or folder may not be given a class; nil if it may.
    public func violation(setting protection: ProtectionClass) -> Violation? {
        policies.lazy.compactMap { $0.violation(setting: protection) }.first
    }

    /// The lock sources that no user switches off.
    public var requiredLockSources: Set<LockSource> {
        policies.reduce(into: []) { $0.formUnion($1.requiredLockSources?.value ?? []) }
    }

    // MARK: Defaults

    /// Seconds.
    public var longestGrace: Int? { policies.compactMap(\.longestGrace?.value).min() }
    /// Seconds that a program may hold a lock where the machine's policy does not say.
    static let standardHold = 900

    /// Seconds; 0 forbids holds. The machine's policy may allow more than the standard, and another one less.
    public var longestHold: Int {
        let others = policies.dropFirst().compactMap(\.longestHold?.value)
        return min(policies.first?.longestHold?.value ?? Self.standardHold, others.min() ?? .max)
    }

    /// Why no program may hold a lock; nil if it may.
    public var violationOfHolding: Violation? {
        guard longestHold == 0 else { return nil }
        var facts = Facts()
        facts.longestHold = 1
        return violations(of: facts).first
    }

    /// Seconds.
    public var lockWhenIdleAfter: Int? { policies.compactMap(\.lockWhenIdleAfter?.value).min() }
    /// Hours.
    public var forgetAfter: Int? { policies.compactMap(\.forgetAfter?.value).min() }
    public var freshness: FreshnessLevel? { policies.compactMap(\.freshness?.value).max() }
    public var eraseAfter: Int? { policies.compactMap(\.eraseAfter?.value).min() }

    /// The weakest class that a file or folder may have; nil if no policy limits it.
    public var minimumClass: ProtectionClass? {
        policies.compactMap(\.minimumClass?.value).max { $1.isStricter(than: $0) }
    }

    /// The strictest class that is required; `other` if no policy requires one, raised to `minimumClass` if that is
    /// stricter.
    public func defaultClass(or other: ProtectionClass) -> ProtectionClass {
        if let demanded = policies.compactMap(\.defaultClass?.value).max(by: { $1.isStricter(than: $0) }) {
            return demanded
        }
        guard let least = minimumClass, least.isStricter(than: other) else { return other }
        return least
    }
}
