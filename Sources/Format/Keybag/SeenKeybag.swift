/// What a machine remembers of the newest keybag that it has seen, in a file beside the device key.
///
/// Its MAC is the caller's. Layout: docs/FORMAT.md, "The keybag seen last".
public struct SeenKeybag: Hashable, Sendable {
    public static let largest = headByteCount + mostSlots * digestByteCount + tagByteCount
    public static let tagByteCount = 32
    /// Of SHA-256, cut short.
    public static let digestByteCount = 16
    /// More slots than a keybag can have.
    static let mostSlots = 1024
    static let magic = Array("LKSEENKB".utf8)
    static let version: UInt16 = 1
    static let headByteCount = 48

    public let volume: VolumeIdentifier
    /// The generation of that keybag: no later one has a lower generation.
    public let generation: UInt64
    /// When this machine saw it first, in seconds since 1970.
    public let time: UInt64
    /// The digests of its slots.
    public let slots: [[UInt8]]

    /// - Parameter slots: 16 bytes each, at most 1024.
    public init(volume: VolumeIdentifier, generation: UInt64, time: UInt64, slots: [[UInt8]]) {
        precondition(slots.count <= Self.mostSlots && slots.allSatisfy { $0.count == Self.digestByteCount })
        self.volume = volume
        self.generation = generation
        self.time = time
        self.slots = slots
    }

    /// Decodes a whole file without its MAC; nil for anything else.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count >= Self.headByteCount, Array(bytes[0..<8]) == Self.magic else { return nil }
        let span = unsafe bytes.span.bytes
        let count = Int(span.integer(at: 10, as: UInt16.self))
        guard span.integer(at: 8, as: UInt16.self) == Self.version, span.isZero(12..<16), count <= Self.mostSlots,
            bytes.count == Self.headByteCount + count * Self.digestByteCount
        else { return nil }
        self.init(
            volume: VolumeIdentifier(span, at: 16), generation: span.integer(at: 32, as: UInt64.self),
            time: span.integer(at: 40, as: UInt64.self),
            slots: (0..<count).map { index in
                let begin = Self.headByteCount + index * Self.digestByteCount
                return Array(bytes[begin..<begin + Self.digestByteCount])
            })
    }

    /// Everything but the MAC, which the caller appends.
    public var encodedWithoutTag: [UInt8] {
        var head = [UInt8](repeating: 0, count: Self.headByteCount)
        do {
            var elements = head.mutableSpan
            var bytes = unsafe elements.mutableBytes
            bytes.store(Self.magic, at: 0)
            bytes.store(Self.version, at: 8)
            bytes.store(UInt16(slots.count), at: 10)
            volume.store(into: &bytes, at: 16)
            bytes.store(generation, at: 32)
            bytes.store(time, at: 40)
        }
        return head + slots.flatMap { $0 }
    }
}
