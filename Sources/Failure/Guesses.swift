/// How many wrong passcodes in a row erase a vault's keys; the type `Guesses` of `io.latchkey`.
public struct Guesses: Codable, Hashable, Sendable {
    /// How many are still allowed; at 0 no passcode is tried any more.
    public var left: Int
    /// How many are allowed in a row.
    public var limit: Int

    public init(left: Int, limit: Int) {
        self.left = left
        self.limit = limit
    }
}
