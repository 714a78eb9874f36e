/// What a file of marks says of one name of one file: 40 bytes. docs/FORMAT.md, "The file of marks".
public struct MarkRecord: Hashable, Sendable {
    public static let byteCount = 40
    static let gone: UInt8 = 1

    public let key: MarkKey
    public let mark: Mark

    public init(_ key: MarkKey, _ mark: Mark) {
        self.key = key
        self.mark = mark
    }

    /// Decodes the record at an offset; nil if a field has a value that none can have.
    public init?(_ bytes: RawSpan, at offset: Int) {
        guard bytes.byteCount >= offset + Self.byteCount, bytes.isZero(offset + 34..<offset + 40),
            let protectionClass = ProtectionClass(rawValue: bytes.integer(at: offset + 32, as: UInt8.self)),
            let kind = Mark.Kind(rawValue: bytes.integer(at: offset + 33, as: UInt8.self) >> 1),
            bytes.integer(at: offset + 12, as: UInt64.self) <= Mark.largestGeneration
        else { return nil }
        self.init(
            MarkKey(bytes.integer(at: offset, as: UInt64.self), bytes.integer(at: offset + 8, as: UInt32.self)),
            Mark(
                generation: bytes.integer(at: offset + 12, as: UInt64.self),
                blocks: bytes.integer(at: offset + 20, as: UInt32.self),
                digest: bytes.integer(at: offset + 24, as: UInt32.self),
                time: bytes.integer(at: offset + 28, as: UInt32.self), protectionClass: protectionClass,
                isGone: bytes.integer(at: offset + 33, as: UInt8.self) & Self.gone != 0, kind: kind))
    }

    /// Writes 40 bytes at an offset; traps if they do not fit.
    public func store(into bytes: inout MutableRawSpan, at offset: Int) {
        bytes.store(key.first, at: offset)
        bytes.store(key.second, at: offset + 8)
        bytes.store(mark.generation, at: offset + 12)
        bytes.store(mark.blocks, at: offset + 20)
        bytes.store(mark.digest, at: offset + 24)
        bytes.store(mark.time, at: offset + 28)
        bytes.store(mark.protectionClass.rawValue, at: offset + 32)
        bytes.store((mark.isGone ? Self.gone : 0) | mark.kind.rawValue << 1, at: offset + 33)
        bytes.store(UInt16(0), at: offset + 34)
        bytes.store(UInt32(0), at: offset + 36)
    }
}
