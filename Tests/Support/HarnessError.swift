/// Why a step of a test was impossible; faults of the tested program are expectations instead.
public struct HarnessError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
