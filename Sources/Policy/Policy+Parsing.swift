import Format
import LockSources
import TOML

extension Policy {
    /// The ranges of the numeric rules.
    static let scores = 0...4
    static let graces = 0...3600
    static let holds = 0...86_400
    static let idleTimes = 1...86_400
    static let forgetTimes = 1...8760
    static let wrongPasscodes = 1...1000

    /// Parses the text of a policy file.
    /// - Parameter path: the path of that file, for messages.
    /// - Throws: for text that is not TOML, unknown or repeated rules, and invalid values; with the line.
    public init(parsing text: String, path: String) throws(PolicyError) {
        self.init(path: path)
        let entries: [TOMLEntry]
        let words = TOMLReader.Words(key: "the name of a rule", noTables: "a policy has no tables")
        do { entries = try TOMLReader.entries(in: text, words) } catch {
            throw PolicyError(path, line: error.line, error.problem)
        }
        for entry in entries {
            guard let name = RuleName(rawValue: entry.key) else {
                throw PolicyError(path, line: entry.line, "there is no rule \(entry.key)")
            }
            do throws(TOMLError) { try set(name, to: entry) } catch {
                throw PolicyError(path, line: error.line, error.problem)
            }
        }
        if let defaultClass, let minimumClass, minimumClass.value.isStricter(than: defaultClass.value) {
            throw PolicyError(
                path, line: defaultClass.line,
                "default-class is weaker than minimum-class in line \(minimumClass.line)")
        }
    }

    private mutating func set(_ name: RuleName, to entry: TOMLEntry) throws(TOMLError) {
        switch name {
        case .minimumPasscodeStrength: minimumPasscodeStrength = try entry.integer(in: Self.scores)
        case .defaultClass: defaultClass = try entry.protectionClass()
        case .minimumClass: minimumClass = try entry.protectionClass()
        case .longestGrace: longestGrace = try entry.integer(in: Self.graces)
        case .longestHold: longestHold = try entry.integer(in: Self.holds)
        case .lockWhenIdleAfter: lockWhenIdleAfter = try entry.integer(in: Self.idleTimes)
        case .forgetAfter: forgetAfter = try entry.integer(in: Self.forgetTimes)
        case .freshness: freshness = try entry.freshness()
        case .eraseAfter: eraseAfter = try entry.integer(in: Self.wrongPasscodes)
        case .requiredEscrowKey: requiredEscrowKey = try entry.escrowKey()
        case .allowedDeviceKeys: allowedDeviceKeys = try entry.deviceKeys()
        case .requiredLockSources: requiredLockSources = try entry.lockSources()
        }
    }
}

extension TOMLEntry {
    fileprivate func integer(in range: ClosedRange<Int>) throws(TOMLError) -> Rule<Int> {
        guard case .integer(let number) = value, range ~= number else {
            throw takes("a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return Rule(number, line: line)
    }

    fileprivate func protectionClass() throws(TOMLError) -> Rule<ProtectionClass> {
        guard case .string(let text) = value, let found = ProtectionClass(attributeValue: text) else {
            throw takes("a class in quotes: " + ProtectionClass.allCases.map(\.name).joined(separator: ", "))
        }
        return Rule(found, line: line)
    }

    fileprivate func freshness() throws(TOMLError) -> Rule<FreshnessLevel> {
        guard case .string(let text) = value, let level = FreshnessLevel(rawValue: text), level != .off else {
            throw takes("\"warn\" or \"strict\"")
        }
        return Rule(level, line: line)
    }

    fileprivate func escrowKey() throws(TOMLError) -> Rule<RequiredEscrowKey> {
        guard case .string(let text) = value else { throw takesEscrowKey }
        // A relative path would be another file for each program that reads the policy.
        if text.hasPrefix("/") { return Rule(.file(text), line: line) }
        guard let key = [UInt8](hexadecimal: text), key.count == 32 else { throw takesEscrowKey }
        return Rule(.key(key), line: line)
    }

    private var takesEscrowKey: TOMLError {
        takes("an X25519 public key in quotes: 64 hexadecimal digits, or the path of a PEM file from the root")
    }

    fileprivate func deviceKeys() throws(TOMLError) -> Rule<Set<DeviceKeyKind>> {
        let known = DeviceKeyKind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        guard case .strings(let names) = value, !names.isEmpty else { throw takes("one or more of [\(known)]") }
        let kinds = names.compactMap { DeviceKeyKind(rawValue: $0) }
        guard kinds.count == names.count else { throw takes("only what is in [\(known)]") }
        return Rule(Set(kinds), line: line)
    }

    fileprivate func lockSources() throws(TOMLError) -> Rule<Set<LockSource>> {
        let known = LockSource.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        guard case .strings(let names) = value, !names.isEmpty else { throw takes("one or more of [\(known)]") }
        let sources = names.compactMap { LockSource(rawValue: $0) }
        guard sources.count == names.count else { throw takes("only what is in [\(known)]") }
        return Rule(Set(sources), line: line)
    }

    private func takes(_ what: String) -> TOMLError { TOMLError(line: line, problem: "\(key) takes \(what)") }
}
