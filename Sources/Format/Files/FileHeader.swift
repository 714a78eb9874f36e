/// The 512 bytes before a regular file's blocks: what it is, where it belongs, and its wrapped key.
///
/// Decoding checks every field's range but not the MAC: that needs a key. Layout: docs/FORMAT.md, "Files".
public struct FileHeader: Hashable, Sendable {
    /// Bytes on disk, one sector, so that a rewrite of it cannot tear.
    public static let byteCount = 512
    /// The bytes that the MAC covers; it lies right behind them.
    public static let signedByteCount = 480
    public static let tagByteCount = 32
    /// Room for both wraps together.
    public static let largestWrap = 120
    public static let largestLength: UInt64 = 1 << 62
    /// Far above what writing comes to, and far enough below the end of the integer that counting on from it cannot
    /// overflow.
    public static let largestGeneration: UInt64 = 1 << 63
    /// A file of more links is found at any place.
    public static let mostBindings = 13
    /// The value of `firstSparseBlock` in a file without holes.
    public static let noSparseBlock = UInt64.max

    static let magic: [UInt8] = Array("LKFILE\r\n".utf8)
    static let version: UInt16 = 1
    static let nanosecondsOffset = 100
    static let bindingsOffset = 104
    static let changedOffset = 312
    static let writtenOffset = 328
    static let modifiedOffset = 344
    static let stampOffset = 352
    static let firstSparseBlockOffset = 80
    static let provisionalLengthOffset = 88
    static let wrapOffset = 360

    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The class was set on this file, not inherited at its creation.
        public static let explicitClass = Flags(rawValue: 1)
        /// It has, or had, more links than there is room for places: its place is not checked.
        public static let manyLinks = Flags(rawValue: 2)
        /// A rename is under way that changes the class: at the last place the pending protection holds.
        public static let moving = Flags(rawValue: 4)

        static let known: Flags = [.explicitClass, .manyLinks, .moving]
    }

    public var features = FeatureBits.none
    public let volume: VolumeIdentifier
    public let file: FileIdentifier
    public var protection: FileProtection
    /// What holds once the file stands at the last of its places.
    public var pending: FileProtection?
    /// Grows by one at each write of the header.
    public var generation: UInt64
    /// The confirmed length in bytes: every block below it was durable before this header was written.
    public var length: UInt64
    /// The length in bytes of the plaintext, at least `length`: blocks past that one may not have reached the disk.
    public var provisionalLength: UInt64
    /// Blocks from here on that are all zeros on disk read as zeros.
    public var firstSparseBlock: UInt64
    /// Where the file may stand: one for each link, and the pending one of a rename under way. Empty: anywhere.
    public var bindings: [NameBinding]
    /// The time of modification that stat(2) shows while the backing file's own is `stamp`.
    public var modified = FileTime.zero
    /// In whole seconds since 1970: a copy whose times have lost their fractions still has it.
    public var stamp: Int64 = 0
    /// The time of change that stat(2) shows while the backing file's own is that of this header's writing.
    public var changed = FileTime.zero
    /// The moment before this header was written to the backing file.
    public var written = FileTime.zero

    public init(volume: VolumeIdentifier, file: FileIdentifier, protection: FileProtection, binding: NameBinding) {
        self.volume = volume
        self.file = file
        self.protection = protection
        generation = 1
        length = 0
        provisionalLength = 0
        firstSparseBlock = Self.noSparseBlock
        bindings = [binding]
    }

    /// Gives it a generation that no file made of the same one has: higher by chance, up to 2^32.
    public mutating func leap() { generation += UInt64.random(in: 1...1 << 32) }

    public var protectionClass: ProtectionClass { protection.protectionClass }

    public var flags: Flags {
        var flags: Flags = []
        if protection.isExplicit { flags.insert(.explicitClass) }
        if bindings.isEmpty { flags.insert(.manyLinks) }
        if pending != nil { flags.insert(.moving) }
        return flags
    }

    /// Whether the file may stand at `binding`.
    public func belongs(at binding: NameBinding) -> Bool { bindings.isEmpty || bindings.contains(binding) }

    /// What the header says of a file that is found at `binding`.
    public func resolved(at binding: NameBinding) -> FileHeader {
        guard let pending else { return self }
        var header = self
        if bindings.last == binding { header.protection = pending }
        header.pending = nil
        return header
    }

    /// What holds of a file when nobody knows where it stood: in the middle of a rename, the stricter one of its
    /// classes.
    public mutating func resolveStrictly() {
        if let pending, pending.protectionClass.isStricter(than: protection.protectionClass) { protection = pending }
        pending = nil
    }
}
