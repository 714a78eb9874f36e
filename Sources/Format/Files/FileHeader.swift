/// The 512 bytes in front of a regular file's blocks: its ID, name bindings, lengths, times and wrapped key.
///
/// Decoding checks the range of every field but not the MAC, which needs a key. Layout: docs/FORMAT.md, "Files".
public struct FileHeader: Hashable, Sendable {
    /// Bytes on disk: one sector, so a crash cannot tear it.
    public static let byteCount = 512
    /// The MAC covers this many bytes and follows them.
    public static let signedByteCount = 480
    public static let tagByteCount = 32
    /// The longest wraps, both together, in bytes.
    public static let largestWrap = 120
    public static let largestLength: UInt64 = 1 << 62
    /// More than any number of writes reaches, and low enough that an increment never overflows.
    public static let largestGeneration: UInt64 = 1 << 63
    /// A file of more links has no bindings: any name may be its own.
    public static let mostBindings = 13
    /// The value of `firstSparseBlock` in a file without holes.
    public static let noSparseBlock = UInt64.max

    static let magic: [UInt8] = Array("LKFILE\r\n".utf8)
    static let version: UInt16 = 1
    static let nanosecondsOffset = 100
    static let bindingsOffset = 104
    static let changedOffset = 312
    static let machineOffset = 324
    static let writtenOffset = 328
    static let modifiedOffset = 344
    static let stampOffset = 352
    static let firstSparseBlockOffset = 80
    static let provisionalLengthOffset = 88
    static let wrapOffset = 360

    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The class was set on this file, not inherited when it was created.
        public static let explicitClass = Flags(rawValue: 1)
        /// The file has, or had, more links than bindings fit: its name is not checked.
        public static let manyLinks = Flags(rawValue: 2)
        /// A rename that changes the class is under way: the pending protection counts at the last binding.
        public static let moving = Flags(rawValue: 4)

        /// The nonces of the file's blocks have numbers in them.
        public static let numberedBlocks = Flags(rawValue: 8)
        static let known: Flags = [.explicitClass, .manyLinks, .moving, .numberedBlocks]
    }

    public var features = FeatureBits.none
    public let volume: VolumeIdentifier
    public let file: FileIdentifier
    public var protection: FileProtection
    /// The protection that counts at the last binding.
    public var pending: FileProtection?
    /// Grows at each write of the header, by 1 or by a random number up to 2^32.
    public var generation: UInt64
    /// The confirmed length in bytes: every block below it was durable before this header was written.
    public var length: UInt64
    /// The length of the plaintext in bytes, at least `length`. Blocks past `length` may not have reached the disk.
    public var provisionalLength: UInt64
    /// From this block on, a block of zeros on disk reads as zeros.
    public var firstSparseBlock: UInt64
    /// The bindings of the names that the file may have: one for each link, and the pending one of a rename under way.
    /// If empty, any name may be its own.
    public var bindings: [NameBinding]
    /// Whether the nonces of all its blocks have numbers in them; never changes.
    public var numbersBlocks = false
    /// The time of modification that stat(2) shows while the backing file's own is `stamp`.
    public var modified = FileTime.zero
    /// Whole seconds since 1970: a copy whose times have lost their fractions still has it.
    public var stamp: Int64 = 0
    /// The time of change that stat(2) shows while the backing file's own is that of the write of this header.
    public var changed = FileTime.zero
    /// The moment before this header was written to the backing file.
    public var written = FileTime.zero
    /// The machine that has written this header, in a synchronised vault; otherwise 0.
    public var machine: UInt32 = 0

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

    /// Raises the generation by a random number up to 2^32, so that it differs from that of any duplicate. If each
    /// block that is written raises it too, by a number up to 2^40, as long as there is room for a million of them.
    public mutating func leap() {
        generation += UInt64.random(in: 1...1 << (numbersBlocks && generation < 1 << 60 ? 40 : 32))
    }

    public var protectionClass: ProtectionClass { protection.protectionClass }

    public var flags: Flags {
        var flags: Flags = []
        if protection.isExplicit { flags.insert(.explicitClass) }
        if bindings.isEmpty { flags.insert(.manyLinks) }
        if pending != nil { flags.insert(.moving) }
        if numbersBlocks { flags.insert(.numberedBlocks) }
        return flags
    }

    /// Whether `binding` is one of the file's.
    public func belongs(at binding: NameBinding) -> Bool { bindings.isEmpty || bindings.contains(binding) }

    /// The header of a file that was found at `binding`.
    public func resolved(at binding: NameBinding) -> FileHeader {
        guard let pending else { return self }
        var header = self
        if bindings.last == binding { header.protection = pending }
        header.pending = nil
        return header
    }

    /// The header of a file whose name is not known: during a rename, the stricter one of its two classes counts.
    public mutating func resolveStrictly() {
        if let pending, pending.protectionClass.isStricter(than: protection.protectionClass) { protection = pending }
        pending = nil
    }
}
