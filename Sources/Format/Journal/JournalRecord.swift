/// The first 64 bytes of a record in `lk.journal`. Payload, padding and a MAC of 32 bytes follow.
///
/// Decoding does not check the MAC, which needs a key. Layout: docs/FORMAT.md, "The journal".
public struct JournalRecord: Hashable, Sendable {
    public enum Kind: UInt8, Sendable {
        /// The first record of a file. The payload is its path. `number` and `generation` are the lowest and the
        /// highest generation that the header on disk can have; 0 for none.
        case file = 1
        /// A stored block; `number` is the block's. Only versions up to 0.1.0 write it.
        case block = 2
        /// A header.
        case header = 3
        /// The file was removed or renamed: replay does not create it again.
        case forget = 4
        /// An empty directory was renamed to a tombstone; the payload is a `TombstoneNote`.
        case tombstone = 5
        /// As `file`, for one of several duplicates: `file` is its alias in the records that follow, the payload a
        /// `DuplicateNote`.
        case duplicate = 6
        /// Stored blocks become zeros: `number` is the first, `generation` how many.
        case hole = 7
        /// Adjacent stored blocks, one behind the other; `number` is the first, `generation` how many. The MAC covers
        /// their `PolynomialHash` in place of them.
        case blocks = 8
    }

    public static let prefixByteCount = 64
    public static let tagByteCount = 32
    /// Records begin at multiples of this.
    public static let alignment = 8
    /// The first record after a flush begins at a multiple of this, so that no durable sector is written again.
    public static let sectorSize = 512
    /// Of all kinds but `blocks`.
    public static let largestPayload = 8192
    /// The most blocks of a *blocks* record.
    public static let mostBlocks = 32

    public var kind: Kind
    public var epoch: UInt64
    /// The offset of the record in its part.
    public var position: UInt64
    public var file: FileIdentifier
    public var generation: UInt64
    /// The number of the first block, also of a hole; for a file, the lowest generation that its header on disk can
    /// have.
    public var number: UInt64
    public var payloadCount: Int

    public init(
        _ kind: Kind, of file: FileIdentifier, generation: UInt64 = 0, number: UInt64 = 0, payloadCount: Int
    ) {
        precondition(payloadCount <= Self.largestPayload(of: kind))
        self.kind = kind
        epoch = 0
        position = 0
        self.file = file
        self.generation = generation
        self.number = number
        self.payloadCount = payloadCount
    }

    public static func largestPayload(of kind: Kind) -> Int {
        kind == .blocks ? mostBlocks * Int(BlockGeometry.storedBlockSize) : largestPayload
    }

    /// Bytes of a record with `payloadCount` bytes of payload, a multiple of 8.
    public static func byteCount(payload payloadCount: Int) -> Int {
        (prefixByteCount + payloadCount + tagByteCount + alignment - 1) / alignment * alignment
    }

    public var byteCount: Int { Self.byteCount(payload: payloadCount) }

    /// Decodes the first 64 bytes of `bytes`.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount >= Self.prefixByteCount else { throw .tooShort }
        guard let kind = Kind(rawValue: bytes.integer(at: 4, as: UInt8.self)) else { throw .badField("type") }
        self.kind = kind
        let count = bytes.integer(at: 60, as: UInt32.self)
        guard count <= UInt32(Self.largestPayload(of: kind)) else { throw .badField("payload length") }
        payloadCount = Int(count)
        guard Int(bytes.integer(at: 0, as: UInt32.self)) == Self.byteCount(payload: payloadCount) else {
            throw .badField("size")
        }
        guard bytes.isZero(5..<8), bytes.isZero(56..<60) else { throw .badField("reserved") }
        epoch = bytes.integer(at: 8, as: UInt64.self)
        guard epoch <= JournalHead.largestNumber else { throw .badField("epoch") }
        position = bytes.integer(at: 16, as: UInt64.self)
        file = FileIdentifier(bytes, at: 24)
        generation = bytes.integer(at: 40, as: UInt64.self)
        number = bytes.integer(at: 48, as: UInt64.self)
    }

    /// Writes the first 64 bytes, and zeros for the padding. The caller writes the payload, and the MAC at the end.
    /// `bytes` has room for the whole record.
    public func encode(into bytes: inout MutableRawSpan) {
        let padding = Self.prefixByteCount + payloadCount
        for offset in padding..<byteCount { bytes.store(UInt8(0), at: offset) }
        bytes.store(UInt32(byteCount), at: 0)
        bytes.store(UInt32(kind.rawValue), at: 4)
        bytes.store(epoch, at: 8)
        bytes.store(position, at: 16)
        file.store(into: &bytes, at: 24)
        bytes.store(generation, at: 40)
        bytes.store(number, at: 48)
        bytes.store(UInt32(0), at: 56)
        bytes.store(UInt32(payloadCount), at: 60)
    }
}

/// The payload of a *tombstone* record: in the folder at `path`, the directory `name` was renamed to `tombstone`.
public struct TombstoneNote: Hashable, Sendable {
    /// From the vault's root; empty for the root itself.
    public var path: [UInt8]
    public var tombstone: [UInt8]
    public var name: [UInt8]

    public init(path: [UInt8], tombstone: [UInt8], name: [UInt8]) {
        self.path = path
        self.tombstone = tombstone
        self.name = name
    }

    public init(decoding bytes: [UInt8]) throws(FormatError) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        guard parts.count == 3, !parts[1].isEmpty, !parts[2].isEmpty else { throw .badField("tombstone") }
        (path, tombstone, name) = (parts[0], parts[1], parts[2])
    }

    public var encoded: [UInt8] { path + [0] + tombstone + [0] + name }
}

/// The payload of a *duplicate* record: the ID in the file's header, and the file's path.
public struct DuplicateNote: Hashable, Sendable {
    public var file: FileIdentifier
    /// From the vault's root; empty if it could not be found out.
    public var path: [UInt8]

    public init(file: FileIdentifier, path: [UInt8]) {
        self.file = file
        self.path = path
    }

    public init(decoding bytes: [UInt8]) throws(FormatError) {
        guard bytes.count >= FileIdentifier.byteCount else { throw .tooShort }
        file = FileIdentifier(Array(bytes[..<FileIdentifier.byteCount]))
        path = Array(bytes[FileIdentifier.byteCount...])
    }

    public var encoded: [UInt8] { file.bytes + path }
}
