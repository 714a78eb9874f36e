/// The first sector of `lk.journal`: the size of the journal, and the sessions that did not end cleanly.
///
/// Decoding does not check the MAC, which needs a key. Layout: docs/FORMAT.md, "The journal".
public struct JournalHead: Hashable, Sendable {
    /// Bytes on disk: one sector, so a crash cannot tear it.
    public static let byteCount = 512
    public static let signedByteCount = 480
    /// The offset of the first part.
    public static let areaOffset = 4096
    public static let largestPart: UInt64 = 1 << 30
    /// The most bytes of all parts together.
    public static let largestArea: UInt64 = 2 << 30
    public static let fewestParts = 2
    public static let mostParts = 64
    /// The highest time and epoch: low enough that an increment never overflows.
    public static let largestNumber: UInt64 = 1 << 62
    public static let mostWindows = 16

    static let magic: [UInt8] = Array("LKJRNL\r\n".utf8)
    static let version: UInt16 = 1
    /// The incompatible feature of a head with more than two parts: a program that does not know it would read two.
    static let moreParts: UInt32 = 1
    /// The incompatible feature of a journal that may have *blocks* records: a program that does not know them would
    /// take each for the end of its part.
    static let blockRuns: UInt32 = 2

    /// The time window of a session that did not end cleanly, up to the beginning of the next one, in seconds since
    /// 1970.
    public struct Window: Hashable, Sendable {
        public var from: UInt64
        public var to: UInt64

        public init(from: UInt64, to: UInt64) {
            self.from = from
            self.to = to
        }
    }

    /// Those that this program does not know.
    public var features = FeatureBits.none
    /// Whether there may be *blocks* records.
    public var hasBlockRuns = false
    public let volume: VolumeIdentifier
    /// Bytes of one part, a multiple of 4096.
    public var partSize: UInt64
    /// How many parts can have records, from 2 to 64. The file may end earlier: it has no records then in those behind
    /// its end.
    public var parts = fewestParts
    /// The beginning of the session that may have left records, in seconds since 1970; 0 after a clean end.
    public var opened: UInt64
    /// The next epoch: each use of a part has its own, and records of an earlier one do not count.
    public var nextEpoch: UInt64
    /// At most 16, the oldest first.
    public var windows: [Window]

    public init(volume: VolumeIdentifier, partSize: UInt64) {
        self.volume = volume
        self.partSize = partSize
        opened = 0
        nextEpoch = 1
        windows = []
    }

    /// The offset of a part in the file.
    public func offset(ofPart part: Int) -> UInt64 { UInt64(Self.areaOffset) + UInt64(part) * partSize }

    /// The most parts of this size that a journal can have.
    public static func mostParts(of partSize: UInt64) -> Int { min(mostParts, Int(largestArea / partSize)) }

    /// Decodes the first 512 bytes of `bytes`, without the MAC.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount >= Self.byteCount else { throw .tooShort }
        guard bytes.array(0..<8) == Self.magic else { throw .wrongMagic }
        let version = bytes.integer(at: 8, as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        features = FeatureBits(bytes, at: 16)
        let hasMoreParts = features.incompatible & Self.moreParts != 0
        hasBlockRuns = features.incompatible & Self.blockRuns != 0
        features.incompatible &= ~(Self.moreParts | Self.blockRuns)
        guard features.canRead else { throw .unknownFeature }
        volume = VolumeIdentifier(bytes, at: 32)
        partSize = bytes.integer(at: 48, as: UInt64.self)
        guard partSize > 0, partSize <= Self.largestPart, partSize % 4096 == 0 else { throw .badField("part size") }
        if hasMoreParts {
            parts = Int(bytes.integer(at: 73, as: UInt8.self))
            guard parts > Self.fewestParts, parts <= Self.mostParts(of: partSize) else { throw .badField("parts") }
        }
        opened = bytes.integer(at: 56, as: UInt64.self)
        guard opened <= Self.largestNumber else { throw .badField("opened") }
        nextEpoch = bytes.integer(at: 64, as: UInt64.self)
        guard nextEpoch <= Self.largestNumber else { throw .badField("next epoch") }
        let count = Int(bytes.integer(at: 72, as: UInt8.self))
        guard count <= Self.mostWindows else { throw .badField("windows") }
        windows = (0..<count).map { index in
            Window(
                from: bytes.integer(at: 80 + 16 * index, as: UInt64.self),
                to: bytes.integer(at: 88 + 16 * index, as: UInt64.self))
        }
        guard bytes.isZero(10..<16), bytes.isZero(28..<32), bytes.isZero((hasMoreParts ? 74 : 73)..<80),
            bytes.isZero(80 + 16 * count..<Self.signedByteCount)
        else { throw .badField("reserved") }
    }

    /// Writes bytes 0 to 479 of the head; the caller appends their MAC. `bytes` has at least 480 bytes.
    public func encode(into bytes: inout MutableRawSpan) {
        for offset in stride(from: 0, to: Self.signedByteCount, by: 8) { bytes.store(UInt64(0), at: offset) }
        bytes.store(Self.magic, at: 0)
        bytes.store(Self.version, at: 8)
        var features = features
        if parts > Self.fewestParts {
            features.incompatible |= Self.moreParts
            bytes.store(UInt8(parts), at: 73)
        }
        if hasBlockRuns { features.incompatible |= Self.blockRuns }
        features.store(into: &bytes, at: 16)
        volume.store(into: &bytes, at: 32)
        bytes.store(partSize, at: 48)
        bytes.store(opened, at: 56)
        bytes.store(nextEpoch, at: 64)
        bytes.store(UInt8(windows.count), at: 72)
        for (index, window) in windows.enumerated() {
            bytes.store(window.from, at: 80 + 16 * index)
            bytes.store(window.to, at: 88 + 16 * index)
        }
    }
}
