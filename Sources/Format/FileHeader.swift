/// The 512 bytes before a regular file's blocks: what it is, where it belongs, and its wrapped key.
///
/// Decoding checks every field's range but not the MAC: that needs a key. Layout: docs/FORMAT.md, "Files".
public struct FileHeader: Hashable, Sendable {
    /// Bytes on disk, one sector, so that a rewrite of it cannot tear.
    public static let byteCount = 512
    /// The bytes that the MAC covers; it lies right behind them.
    public static let signedByteCount = 480
    public static let tagByteCount = 32
    public static let largestWrap = 352
    public static let largestLength: UInt64 = 1 << 62
    /// The value of `firstSparseBlock` in a file without holes.
    public static let noSparseBlock = UInt64.max

    static let magic: [UInt8] = Array("LKFILE\r\n".utf8)
    static let version: UInt16 = 1

    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The class was set on this file, not inherited at its creation.
        public static let explicitClass = Flags(rawValue: 1)
        /// link(2) has given it more than one name: its place is not checked.
        public static let severalLinks = Flags(rawValue: 2)
        /// A rename is under way: it may stand at the second place as well.
        public static let moving = Flags(rawValue: 4)

        static let known: Flags = [.explicitClass, .severalLinks, .moving]
    }

    public var features = FeatureBits.none
    public let volume: VolumeIdentifier
    public let file: FileIdentifier
    public var protectionClass: ProtectionClass
    public var flags: Flags
    public var wrapAlgorithm: UInt8
    /// At most `largestWrap` bytes.
    public var wrap: [UInt8]
    /// Grows by one at each write of the header.
    public var generation: UInt64
    /// Of the plaintext, in bytes.
    public var length: UInt64
    /// Blocks from here on that are all zeros on disk read as zeros.
    public var firstSparseBlock: UInt64
    public var place: Place
    public var secondPlace: Place

    public init(
        volume: VolumeIdentifier, file: FileIdentifier, protectionClass: ProtectionClass, flags: Flags,
        wrapAlgorithm: UInt8, wrap: [UInt8], place: Place
    ) {
        precondition(wrap.count <= Self.largestWrap)
        self.volume = volume
        self.file = file
        self.protectionClass = protectionClass
        self.flags = flags
        self.wrapAlgorithm = wrapAlgorithm
        self.wrap = wrap
        generation = 1
        length = 0
        firstSparseBlock = Self.noSparseBlock
        self.place = place
        secondPlace = .zero
    }

    /// Reads the first 512 bytes of `bytes`, without the MAC.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount >= Self.byteCount else { throw .tooShort }
        guard bytes.array(0..<8) == Self.magic else { throw .wrongMagic }
        let version = bytes.integer(at: 8, as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        guard bytes.integer(at: 10, as: UInt16.self) == Self.byteCount else { throw .badField("header size") }
        features = FeatureBits(bytes, at: 12)
        guard features.canRead else { throw .unknownFeature }
        volume = VolumeIdentifier(bytes, at: 24)
        file = FileIdentifier(bytes, at: 40)
        guard let protectionClass = ProtectionClass(rawValue: bytes.integer(at: 56, as: UInt8.self)) else {
            throw .badField("class")
        }
        self.protectionClass = protectionClass
        flags = Flags(rawValue: bytes.integer(at: 57, as: UInt8.self))
        guard flags.isSubset(of: .known) else { throw .badField("flags") }
        wrapAlgorithm = bytes.integer(at: 58, as: UInt8.self)
        let wrapCount = Int(bytes.integer(at: 60, as: UInt16.self))
        guard wrapCount <= Self.largestWrap else { throw .badField("wrap length") }
        wrap = bytes.array(128..<128 + wrapCount)
        generation = bytes.integer(at: 64, as: UInt64.self)
        length = bytes.integer(at: 72, as: UInt64.self)
        guard length <= Self.largestLength else { throw .badField("length") }
        firstSparseBlock = bytes.integer(at: 80, as: UInt64.self)
        place = Place(bytes, at: 88)
        secondPlace = Place(bytes, at: 104)
        guard flags.contains(.moving) || secondPlace == .zero else { throw .badField("second place") }
        guard bytes.isZero(59..<60), bytes.isZero(62..<64), bytes.isZero(120..<128),
            bytes.isZero(128 + wrapCount..<Self.signedByteCount)
        else { throw .badField("reserved") }
    }

    /// Writes bytes 0 to 479 of the header; the caller appends the MAC over them. `bytes` holds 480 or more.
    public func encode(into bytes: inout MutableRawSpan) {
        for offset in stride(from: 0, to: Self.signedByteCount, by: 8) { bytes.store(UInt64(0), at: offset) }
        bytes.store(Self.magic, at: 0)
        bytes.store(Self.version, at: 8)
        bytes.store(UInt16(Self.byteCount), at: 10)
        features.store(into: &bytes, at: 12)
        volume.store(into: &bytes, at: 24)
        file.store(into: &bytes, at: 40)
        bytes.store(protectionClass.rawValue, at: 56)
        bytes.store(flags.rawValue, at: 57)
        bytes.store(wrapAlgorithm, at: 58)
        bytes.store(UInt16(wrap.count), at: 60)
        bytes.store(generation, at: 64)
        bytes.store(length, at: 72)
        bytes.store(firstSparseBlock, at: 80)
        place.store(into: &bytes, at: 88)
        secondPlace.store(into: &bytes, at: 104)
        bytes.store(wrap, at: 128)
    }

    /// Whether the file may stand at `place`.
    public func belongs(at place: Place) -> Bool {
        flags.contains(.severalLinks) || self.place == place || (flags.contains(.moving) && secondPlace == place)
    }
}
