/// How many wrong passcodes a vault takes before its keys are erased.
public struct GuessesLeft: Hashable, Sendable {
    /// From now on; 0 where no passcode is tried any more.
    public let number: Int
    /// In a row.
    public let limit: Int

    public init(_ number: Int, of limit: Int) {
        self.number = number
        self.limit = limit
    }
}
