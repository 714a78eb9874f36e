import Format

/// How large a vault's journal may be.
public struct JournalSize: Hashable, Sendable {
    /// Bytes of each part, a multiple of 4096.
    public let part: UInt64
    /// How many parts the journal may have while more is written than checkpoints bring into place. It begins with two.
    public let mostParts: Int

    /// 32 MiB, and while a burst lasts 1 GiB.
    public static let usual = JournalSize(part: 16 << 20, mostParts: JournalHead.mostParts)
    /// The smallest part holds all that one change can write at once.
    public static let smallest = JournalSize(part: 1280 << 10, mostParts: JournalHead.fewestParts)

    public init(part: UInt64, mostParts: Int) {
        self.part = part
        self.mostParts = min(mostParts, JournalHead.mostParts(of: part))
    }
}
