/// A fault of a parser, in words.
public struct Finding: Error, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// States what must hold for every input.
func demand(_ holds: Bool, _ what: @autoclosure () -> String) throws(Finding) {
    guard holds else { throw Finding(what()) }
}

/// Runs what must succeed for every input.
func demandSuccess<Result: ~Copyable, Failure: Error>(
    of what: @autoclosure () -> String, _ body: () throws(Failure) -> Result
) throws(Finding) -> Result {
    do { return try body() } catch { throw Finding("\(what()): \(error)") }
}
