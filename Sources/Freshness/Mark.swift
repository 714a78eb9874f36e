public import Format

/// What a machine remembers of one name of one file: a lower bound of how new what is there must be.
public struct Mark: Hashable, Sendable {
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

    public init(
        generation: UInt64, blocks: UInt32 = 0, digest: UInt32, time: UInt32, protectionClass: ProtectionClass,
        isGone: Bool = false
    ) {
        self.generation = generation
        self.blocks = blocks
        self.digest = digest
        self.time = time
        self.protectionClass = protectionClass
        self.isGone = isGone
    }

    /// What a header tells.
    public init(_ header: FileHeader, time: UInt32, isGone: Bool = false) {
        self.init(
            generation: header.generation,
            blocks: UInt32(clamping: BlockGeometry.blockCount(forLength: header.length)),
            digest: header.digestWithoutLength, time: time, protectionClass: header.protectionClass, isGone: isGone)
    }

    /// What was found, compared with this.
    public func verdict(on found: Mark) -> Verdict {
        if isGone { return found.generation > generation ? .newer : .back }
        guard found.generation == generation else { return found.generation > generation ? .newer : .older }
        if found.digest != digest { return .conflict }
        guard found.blocks == blocks else { return found.blocks > blocks ? .newer : .older }
        return .same
    }

    /// Whether this mark tells of something newer than another one does of the same name.
    func isNewer(than other: Mark) -> Bool {
        if generation != other.generation { return generation > other.generation }
        if isGone || other.isGone { return isGone && !other.isGone }
        return blocks > other.blocks && digest == other.digest
    }
}

/// How new a file under a name is, beside what this machine remembers.
public enum Verdict: Hashable, Sendable {
    case same
    case newer
    /// An older version was put back.
    case older
    /// A file that had lost this name is back, with a version of then.
    case back
    /// Another header of the same generation: two machines have changed the file apart from each other.
    case conflict

    public var isFresh: Bool { self == .same || self == .newer }
}

/// Which name of which file: 96 bits of the two identifiers, both of which look random to those who lack the keys.
public struct MarkKey: Hashable, Sendable {
    let first: UInt64
    let second: UInt32

    public init(_ file: FileIdentifier, at binding: NameBinding) {
        self.init(
            file.firstHalf ^ binding.firstHalf,
            UInt32(truncatingIfNeeded: file.secondHalf ^ binding.secondHalf))
    }

    /// The journal's: no file has the ID of zeros.
    public static let journal = MarkKey(0, 0)

    init(_ first: UInt64, _ second: UInt32) {
        self.first = first
        self.second = second
    }
}
