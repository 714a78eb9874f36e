/// What a machine remembers of a vault's keybag, in a file beside the device key: the newest one that it has seen.
///
/// Its MAC is the caller's. Layout: docs/FORMAT.md, "The keybag seen last".
public struct SeenKeybag: Hashable, Sendable {
    public static let largest = headByteCount + KeybagFile.largest + tagByteCount
    public static let tagByteCount = 32
    static let magic = Array("LKSEENKB".utf8)
    static let version: UInt16 = 1
    static let headByteCount = 48

    public let volume: VolumeIdentifier
    /// When this machine saw it first, in seconds since 1970.
    public let time: UInt64
    /// The whole keybag, with its MACs.
    public let keybag: [UInt8]

    public init(volume: VolumeIdentifier, time: UInt64, keybag: [UInt8]) {
        self.volume = volume
        self.time = time
        self.keybag = keybag
    }

    /// Decodes a whole file without its MAC; nil for anything else.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count >= Self.headByteCount, Array(bytes[0..<8]) == Self.magic else { return nil }
        let span = unsafe bytes.span.bytes
        guard span.integer(at: 8, as: UInt16.self) == Self.version, span.isZero(10..<12), span.isZero(40..<48),
            Int(span.integer(at: 12, as: UInt32.self)) == bytes.count - Self.headByteCount
        else { return nil }
        self.init(
            volume: VolumeIdentifier(span, at: 16), time: span.integer(at: 32, as: UInt64.self),
            keybag: Array(bytes[Self.headByteCount...]))
    }

    /// Everything but the MAC, which the caller appends.
    public var encodedWithoutTag: [UInt8] {
        var head = [UInt8](repeating: 0, count: Self.headByteCount)
        do {
            var elements = head.mutableSpan
            var bytes = unsafe elements.mutableBytes
            bytes.store(Self.magic, at: 0)
            bytes.store(Self.version, at: 8)
            bytes.store(UInt32(keybag.count), at: 12)
            volume.store(into: &bytes, at: 16)
            bytes.store(time, at: 32)
        }
        return head + keybag
    }
}
