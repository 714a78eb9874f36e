/// What a file of marks says of blocks of one file under one name: 40 bytes. docs/FORMAT.md, "The file of marks".
public struct BlockRecord: Hashable, Sendable {
    /// The number that tells such a record from a mark, where that has its kind.
    static let kind: UInt8 = 3

    public let key: MarkKey
    public let run: BlockRun

    public init(_ key: MarkKey, _ run: BlockRun) {
        self.key = key
        self.run = run
    }

    /// Decodes the record at an offset; nil if it is another one, or a field has a value that none can have.
    public init?(_ bytes: RawSpan, at offset: Int) {
        guard bytes.byteCount >= offset + MarkRecord.byteCount, bytes.isZero(offset + 34..<offset + 40),
            bytes.integer(at: offset + 33, as: UInt8.self) == Self.kind << 1,
            bytes.integer(at: offset + 32, as: UInt8.self) == ProtectionClass.none.rawValue
        else { return nil }
        let run = BlockRun(
            first: bytes.integer(at: offset + 24, as: UInt64.self),
            count: bytes.integer(at: offset + 20, as: UInt32.self),
            number: bytes.integer(at: offset + 12, as: UInt64.self))
        guard run.first <= BlockGeometry.mostBlocks, run.number <= BlockNumber.highest else { return nil }
        self.init(
            MarkKey(bytes.integer(at: offset, as: UInt64.self), bytes.integer(at: offset + 8, as: UInt32.self)), run)
    }

    /// Writes 40 bytes at an offset; traps if they do not fit.
    public func store(into bytes: inout MutableRawSpan, at offset: Int) {
        bytes.store(key.first, at: offset)
        bytes.store(key.second, at: offset + 8)
        bytes.store(run.number, at: offset + 12)
        bytes.store(run.count, at: offset + 20)
        bytes.store(run.first, at: offset + 24)
        bytes.store(ProtectionClass.none.rawValue, at: offset + 32)
        bytes.store(Self.kind << 1, at: offset + 33)
        bytes.store(UInt16(0), at: offset + 34)
        bytes.store(UInt32(0), at: offset + 36)
    }
}
