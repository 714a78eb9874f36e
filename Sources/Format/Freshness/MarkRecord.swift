/// What a file of marks says of one name of one file: 40 bytes. docs/FORMAT.md, "The file of marks".
public struct MarkRecord: Hashable, Sendable {
    public static let byteCount = 40
    static let gone: UInt8 = 1

    /// The first 12 bytes of file ID and name binding, combined by exclusive or.
    public var key: (first: UInt64, second: UInt32) { (first, second) }
    private let first: UInt64
    private let second: UInt32
    public let generation: UInt64
    /// Of the confirmed length.
    public let blocks: UInt32
    public let digest: UInt32
    /// Seconds since 1970.
    public let time: UInt32
    public let protectionClass: ProtectionClass
    public let isGone: Bool

    public init(
        key: (first: UInt64, second: UInt32), generation: UInt64, blocks: UInt32, digest: UInt32, time: UInt32,
        protectionClass: ProtectionClass, isGone: Bool
    ) {
        (first, second) = key
        self.generation = generation
        self.blocks = blocks
        self.digest = digest
        self.time = time
        self.protectionClass = protectionClass
        self.isGone = isGone
    }

    /// Decodes the record at an offset; nil if a field has a value that none can have.
    public init?(_ bytes: RawSpan, at offset: Int) {
        guard bytes.byteCount >= offset + Self.byteCount, bytes.isZero(offset + 34..<offset + 40),
            let protectionClass = ProtectionClass(rawValue: bytes.integer(at: offset + 32, as: UInt8.self)),
            bytes.integer(at: offset + 33, as: UInt8.self) & ~Self.gone == 0
        else { return nil }
        self.init(
            key: (bytes.integer(at: offset, as: UInt64.self), bytes.integer(at: offset + 8, as: UInt32.self)),
            generation: bytes.integer(at: offset + 12, as: UInt64.self),
            blocks: bytes.integer(at: offset + 20, as: UInt32.self),
            digest: bytes.integer(at: offset + 24, as: UInt32.self),
            time: bytes.integer(at: offset + 28, as: UInt32.self), protectionClass: protectionClass,
            isGone: bytes.integer(at: offset + 33, as: UInt8.self) == Self.gone)
    }

    /// Writes 40 bytes at an offset; traps if they do not fit.
    public func store(into bytes: inout MutableRawSpan, at offset: Int) {
        bytes.store(first, at: offset)
        bytes.store(second, at: offset + 8)
        bytes.store(generation, at: offset + 12)
        bytes.store(blocks, at: offset + 20)
        bytes.store(digest, at: offset + 24)
        bytes.store(time, at: offset + 28)
        bytes.store(protectionClass.rawValue, at: offset + 32)
        bytes.store(isGone ? Self.gone : 0, at: offset + 33)
        bytes.store(UInt16(0), at: offset + 34)
        bytes.store(UInt32(0), at: offset + 36)
    }
}
