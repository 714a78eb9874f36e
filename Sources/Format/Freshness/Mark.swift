/// What a machine remembers of one name of one file or directory: a lower bound of how new what is there must be.
public struct Mark: Hashable, Sendable {
    /// Of no header or record is it higher.
    public static let largestGeneration: UInt64 = 1 << 63

    /// Of the newest header that was seen under this name.
    public var generation: UInt64
    /// The confirmed length in that header, in blocks, at most 2^32 - 1.
    public var blocks: UInt32
    /// Of that header without the confirmed length, so that another header of the same generation is told apart: 32
    /// bits of a hash.
    public var digest: UInt32
    /// When this machine has seen that header, in seconds since 1970; it ends in 2106.
    public var time: UInt32
    public var protectionClass: ProtectionClass
    /// The file has lost this name: it was removed, replaced or renamed.
    public var isGone: Bool
    public var kind: Kind

    public enum Kind: UInt8, Sendable {
        case file = 0
        case directory = 1
        /// Something that is sealed with a nonce of its own: it can be gone, but not have a newer version.
        case value = 2
        /// The newest version of a file that one machine has written, in a synchronised vault. (A record of blocks has
        /// 3 in its place.)
        case version = 6
    }

    public init(
        generation: UInt64, blocks: UInt32 = 0, digest: UInt32, time: UInt32, protectionClass: ProtectionClass,
        isGone: Bool = false, kind: Kind = .file
    ) {
        self.generation = generation
        self.blocks = blocks
        self.digest = digest
        self.time = time
        self.protectionClass = protectionClass
        self.isGone = isGone
        self.kind = kind
    }

    /// What a header tells.
    public init(_ header: FileHeader, time: UInt32, isGone: Bool = false) {
        self.init(
            generation: header.generation,
            blocks: UInt32(clamping: BlockGeometry.blockCount(forLength: header.length)),
            digest: header.digestWithoutLength, time: time, protectionClass: header.protectionClass, isGone: isGone)
    }

    /// What a directory record tells.
    public init(_ record: DirectoryRecord, time: UInt32, isGone: Bool = false) {
        self.init(
            generation: record.generation,
            digest: UInt32(record.defaultClass.rawValue) | (record.isExplicit ? 1 << 8 : 0), time: time,
            protectionClass: record.defaultClass, isGone: isGone, kind: .directory)
    }
}
