/// A machine's copy of a directory's record: `lk.dir.M`, in a synchronised vault.
///
/// A program that copies a vault between machines removes what one machine has removed, unless another machine has
/// changed it. So a machine that changes something in a directory writes its copy of the record anew: if another
/// machine removes the directory, what was changed keeps an ID by which its name can be read. The copy has the long
/// names of what was changed as well.
///
/// Not thread-safe: a value.
public struct RecordCopy: Hashable, Sendable {
    /// The directory's record.
    public var record: DirectoryRecord
    /// Records of the same directory whose IDs entries may still have.
    public private(set) var others: [DirectoryRecord]
    /// Random, of each writing: no copy has the bytes of an earlier one.
    public var moment: UInt64
    /// The ciphertexts of long names, the latest last.
    public private(set) var longNames: [[UInt8]]

    /// A file is not longer than this, in bytes.
    public static let largestSize = 32_768
    private static let mostOthers = 15
    private static let mostLongNames = 100
    private static let magic = Array("LKCOPY\r\n".utf8)
    private static let tagCount = 16

    public init(
        record: DirectoryRecord, others: [DirectoryRecord] = [], moment: UInt64, longNames: [[UInt8]] = []
    ) {
        self.record = record
        self.moment = moment
        self.others = []
        self.longNames = Array(longNames.suffix(Self.mostLongNames))
        for other in others { note(other) }
    }

    /// All directory IDs in it.
    public var identifiers: Set<DirectoryIdentifier> { Set([record.directory] + others.map(\.directory)) }

    /// Notes another record, unless one with that ID is there. The earliest is forgotten if there are too many.
    public mutating func note(_ other: DirectoryRecord) {
        guard !identifiers.contains(other.directory) else { return }
        others = others.suffix(Self.mostOthers - 1) + [other]
    }

    /// Notes a long name. The earliest is forgotten if there are too many.
    ///
    /// - Returns: false if it was noted before.
    public mutating func note(longName ciphertext: [UInt8]) -> Bool {
        guard !longNames.contains(ciphertext) else { return false }
        longNames = longNames.suffix(Self.mostLongNames - 1) + [ciphertext]
        return true
    }

    // MARK: Coding

    /// What is sealed.
    public var plain: [UInt8] { Self.bytes(moment, count: 8) + ([record] + others).flatMap(\.encoded) }

    /// The file's bytes.
    public func encoded(sealed: [UInt8]) -> [UInt8] {
        Self.magic + ([sealed] + longNames).flatMap { Self.bytes(UInt64($0.count), count: 2) + $0 }
    }

    /// The sealed part and the long names in a file; nil if they are none.
    public static func parts(of bytes: [UInt8]) -> (sealed: [UInt8], longNames: [[UInt8]])? {
        guard bytes.count <= largestSize, bytes.starts(with: magic) else { return nil }
        var parts: [[UInt8]] = []
        var rest = bytes[magic.count...]
        while let low = rest.popFirst() {
            guard let high = rest.popFirst() else { return nil }
            let count = Int(low) | Int(high) << 8
            guard count > 0, count <= rest.count, parts.count <= mostLongNames else { return nil }
            parts.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        guard let sealed = parts.first, sealed.count > tagCount else { return nil }
        return (sealed, Array(parts.dropFirst()))
    }

    /// - Parameter plain: what was sealed.
    public init(plain: [UInt8], longNames: [[UInt8]]) throws(FormatError) {
        let size = DirectoryRecord.byteCount
        guard plain.count >= 8 + size, (plain.count - 8) % size == 0, plain.count <= 8 + size * (1 + Self.mostOthers)
        else { throw .tooShort }
        var records: [DirectoryRecord] = []
        for start in stride(from: 8, to: plain.count, by: size) {
            let bytes = Array(plain[start..<start + size])
            records.append(try unsafe DirectoryRecord(decoding: bytes.span.bytes))
        }
        record = records[0]
        others = Array(records.dropFirst())
        moment = plain.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        self.longNames = longNames
    }

    private static func bytes(_ number: UInt64, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
