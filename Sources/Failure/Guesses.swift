/// How many wrong passcodes a vault takes before its keys are erased; the type `Guesses` of `io.latchkey`.
public struct Guesses: Codable, Hashable, Sendable {
    /// From now on; 0 where no passcode is tried any more.
    public var left: Int
    /// In a row.
    public var limit: Int

    public init(left: Int, limit: Int) {
        self.left = left
        self.limit = limit
    }
}
