import ArgumentParser
import Format

extension ProtectionClass: ExpressibleByArgument {
    /// A long name, a letter from A to D, or one of Apple's constants.
    public init?(argument: String) { self.init(attributeValue: argument) }

    public var defaultValueDescription: String { name }

    public static var allValueStrings: [String] { allCases.map(\.name) }
}
