/// A lower bound of the numbers of blocks that follow each other. docs/FORMAT.md, "The file of marks".
public struct BlockRun: Hashable, Sendable {
    /// As `count`: all blocks from the first one on.
    public static let toTheEnd = UInt32.max

    public let first: UInt64
    /// Of the blocks; 0 if nothing that was said before of the file's blocks counts any more.
    public let count: UInt32
    /// No block of the run has a lower number.
    public let number: UInt64

    public init(first: UInt64, count: UInt32, number: UInt64) {
        self.first = first
        self.count = count
        self.number = number
    }
}
