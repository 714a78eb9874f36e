/// A directory's record: its ID and the class of new files in it. 28 bytes, sealed in `lk.dir`.
public struct DirectoryRecord: Hashable, Sendable {
    public static let byteCount = 28
    /// Characters of the sealed record: base64url of 28 bytes and a tag of 16. ext4 keeps up to 59 in the inode.
    public static let sealedTextCount = 59

    public let directory: DirectoryIdentifier
    /// The class of what is created in the directory.
    public var defaultClass: ProtectionClass
    /// The class was set on this directory, not inherited from its parent.
    public var isExplicit: Bool
    /// 0 for a new directory. Each change of the record raises it, in a vault with numbered directories.
    public var generation: UInt64
    /// A machine does not remember the upper half of these: a thief of the keys could make one that no later one
    /// surpasses.
    public static let highestGeneration: UInt64 = 1 << 63

    public init(
        directory: DirectoryIdentifier, defaultClass: ProtectionClass, isExplicit: Bool, generation: UInt64 = 0
    ) {
        self.directory = directory
        self.defaultClass = defaultClass
        self.isExplicit = isExplicit
        self.generation = generation
    }

    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount == Self.byteCount else { throw .tooShort }
        directory = DirectoryIdentifier(bytes)
        guard let defaultClass = ProtectionClass(rawValue: bytes.integer(at: 16, as: UInt8.self)) else {
            throw .badField("class")
        }
        self.defaultClass = defaultClass
        let flags = bytes.integer(at: 17, as: UInt8.self)
        guard flags <= 1 else { throw .badField("flags") }
        isExplicit = flags == 1
        generation = bytes.integer(at: 18, as: UInt64.self)
        guard generation <= Self.highestGeneration else { throw .badField("generation") }
        guard bytes.isZero(26..<28) else { throw .badField("reserved") }
    }

    public var encoded: [UInt8] {
        directory.bytes + [defaultClass.rawValue, isExplicit ? 1 : 0]
            + (0..<8).map { UInt8(truncatingIfNeeded: generation >> (8 * $0)) } + [0, 0]
    }
}
