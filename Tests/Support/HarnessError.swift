/// Why a step of a test could not be made at all; what the program did wrong is an expectation instead.
public struct HarnessError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}
