public import Format

/// All policies that hold at once: the machine's, and one that somebody has named besides.
///
/// Who names one can make it stricter for himself, and not laxer.
public struct PolicyInForce: Hashable, Sendable {
    public let policies: [Policy]

    public init(_ policies: [Policy] = []) { self.policies = policies }

    /// - Parameters:
    ///   - path: of one besides the machine's; it has to be there.
    ///   - decode: the 32 bytes of a public key in PEM text; nil if there is none.
    /// - Throws: if one of them cannot be used: what it forbids is not known then.
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

    // MARK: What is taken where nobody says otherwise

    /// Seconds.
    public var longestGrace: Int? { policies.compactMap(\.longestGrace?.value).min() }
    /// Seconds.
    public var lockWhenIdleAfter: Int? { policies.compactMap(\.lockWhenIdleAfter?.value).min() }
    public var eraseAfter: Int? { policies.compactMap(\.eraseAfter?.value).min() }

    /// No file or folder is to have a weaker one; nil where none says so.
    public var minimumClass: ProtectionClass? {
        policies.compactMap(\.minimumClass?.value).max { $1.isStricter(than: $0) }
    }

    /// The strictest that is asked for; `other` where that is stricter still, or none is.
    public func defaultClass(or other: ProtectionClass) -> ProtectionClass {
        if let demanded = policies.compactMap(\.defaultClass?.value).max(by: { $1.isStricter(than: $0) }) {
            return demanded
        }
        guard let least = minimumClass, least.isStricter(than: other) else { return other }
        return least
    }
}
