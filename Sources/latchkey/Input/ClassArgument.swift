import ArgumentParser
import Format

/// A protection class as people type it: a long name, a letter from A to D, or one of Apple's constants.
///
/// A type of its own, because the argument parser would show an enumeration by its raw values.
struct ClassArgument: ExpressibleByArgument {
    let protectionClass: ProtectionClass

    init(_ protectionClass: ProtectionClass) { self.protectionClass = protectionClass }

    init?(argument: String) {
        guard let found = ProtectionClass(attributeValue: argument) else { return nil }
        protectionClass = found
    }

    var defaultValueDescription: String { protectionClass.name }

    /// For shell completion, and for the error about another value.
    static var allValueStrings: [String] { ProtectionClass.allCases.map(\.name) }
}
