/// What stat(2) shows of a regular file, stored beside the backing file so that the header need not be read.
///
/// 66 bytes in an extended attribute, which ext4 keeps in the inode. The MAC covers the name binding, the size of the
/// backing file, and the stamp of the last header, so every change of the file makes the summary invalid. Decoding
/// checks the range of every field but not the MAC. Layout: docs/FORMAT.md, "Summaries".
public struct FileSummary: Hashable, Sendable {
    public static let attribute = "user.lk"
    public static let byteCount = 66
    public static let tagByteCount = 16
    /// The MAC covers the bytes in front of it and some that are not stored.
    public static let signedByteCount = fieldsByteCount + 32
    static let fieldsByteCount = 50
    static let version: UInt8 = 1
    static let explicitFlag: UInt8 = 0x80

    public let file: FileIdentifier
    public let generation: UInt64
    public let protectionClass: ProtectionClass
    public let isExplicit: Bool
    private let modified: FileTime
    private let changed: FileTime
    private let written: FileTime

    /// Nil if a summary cannot hold the header: a file of several links or none, one with a rename under way, or a time
    /// that 64 bits of nanoseconds cannot hold (1677 to 2262).
    ///
    /// - Parameter header: all of the file's length must be confirmed.
    public init?(_ header: FileHeader) {
        guard header.features == .none, header.bindings.count == 1, header.pending == nil,
            [header.modified, header.changed, header.written].allSatisfy({ $0.sinceEpoch != nil })
        else { return nil }
        file = header.file
        generation = header.generation
        protectionClass = header.protectionClass
        isExplicit = header.protection.isExplicit
        modified = header.modified
        changed = header.changed
        written = header.written
    }

    /// Decodes a summary. The caller checks the MAC over `signed(at:size:stamp:)`.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount == Self.byteCount else { throw .tooShort }
        let version = bytes.integer(at: 0, as: UInt8.self)
        guard version == Self.version else { throw .unknownVersion(UInt16(version)) }
        let kind = bytes.integer(at: 1, as: UInt8.self)
        guard let protectionClass = ProtectionClass(rawValue: kind & ~Self.explicitFlag) else {
            throw .badField("class")
        }
        self.protectionClass = protectionClass
        isExplicit = kind & Self.explicitFlag != 0
        file = FileIdentifier(bytes, at: 2)
        generation = bytes.integer(at: 18, as: UInt64.self)
        modified = FileTime(bytes, at: 26)
        changed = FileTime(bytes, at: 34)
        written = FileTime(bytes, at: 42)
    }

    /// The 82 bytes that the MAC covers; the first 50 of them are stored.
    ///
    /// - Parameters:
    ///   - size: of the backing file, in bytes.
    ///   - stamp: the backing file's time of modification in seconds.
    public func signed(at binding: NameBinding, size: UInt64, stamp: Int64) -> InlineArray<82, UInt8> {
        var signed: InlineArray<82, UInt8> = .init(repeating: 0)
        var elements = signed.mutableSpan
        var bytes = unsafe elements.mutableBytes
        bytes.store(Self.version, at: 0)
        bytes.store(protectionClass.rawValue | (isExplicit ? Self.explicitFlag : 0), at: 1)
        file.store(into: &bytes, at: 2)
        bytes.store(generation, at: 18)
        bytes.store(modified, at: 26)
        bytes.store(changed, at: 34)
        bytes.store(written, at: 42)
        binding.store(into: &bytes, at: 50)
        bytes.store(size, at: 66)
        bytes.store(UInt64(bitPattern: stamp), at: 74)
        return signed
    }

    /// The time of modification that stat(2) shows while the backing file has its stamp.
    public var shownTime: FileTime { modified }

    /// The time of change that stat(2) shows if the backing file's own is `backing`.
    public func shownChange(of backing: FileTime) -> FileTime {
        FileHeader.shownChange(of: backing, written: written, changed: changed)
    }
}

extension FileTime {
    private static let second: Int64 = 1_000_000_000

    /// Nanoseconds since 1970; nil if 64 bits cannot hold them.
    fileprivate var sinceEpoch: Int64? {
        Int64(exactly: Int128(seconds) * Int128(Self.second) + Int128(nanoseconds))
    }

    fileprivate init(_ bytes: RawSpan, at offset: Int) {
        let since = Int64(bitPattern: bytes.integer(at: offset, as: UInt64.self))
        let (whole, rest) = since.quotientAndRemainder(dividingBy: Self.second)
        self.init(seconds: rest < 0 ? whole - 1 : whole, nanoseconds: UInt32(rest < 0 ? rest + Self.second : rest))
    }
}

extension MutableRawSpan {
    fileprivate mutating func store(_ time: FileTime, at offset: Int) {
        store(UInt64(bitPattern: time.sinceEpoch ?? 0), at: offset)
    }
}
