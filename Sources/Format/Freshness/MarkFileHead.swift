/// The first 64 bytes of a file of marks. docs/FORMAT.md, "The file of marks".
public struct MarkFileHead: Hashable, Sendable {
    public static let byteCount = 64
    static let magic = Array("LKMARKS1".utf8)
    static let version: UInt16 = 1
    public static let identifierByteCount = 16

    public let volume: VolumeIdentifier
    /// Random for each file: no batch of one file counts in another.
    public let identifier: [UInt8]

    public init(volume: VolumeIdentifier, identifier: [UInt8]) {
        precondition(identifier.count == Self.identifierByteCount)
        self.volume = volume
        self.identifier = identifier
    }

    /// Nil for anything else.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, Array(bytes[0..<8]) == Self.magic else { return nil }
        let span = unsafe bytes.span.bytes
        guard span.integer(at: 8, as: UInt16.self) == Self.version, span.isZero(10..<16), span.isZero(48..<64) else {
            return nil
        }
        self.init(volume: VolumeIdentifier(span, at: 16), identifier: Array(bytes[32..<48]))
    }

    public var encoded: [UInt8] {
        var encoded = [UInt8](repeating: 0, count: Self.byteCount)
        var elements = encoded.mutableSpan
        var bytes = unsafe elements.mutableBytes
        bytes.store(Self.magic, at: 0)
        bytes.store(Self.version, at: 8)
        volume.store(into: &bytes, at: 16)
        bytes.store(identifier, at: 32)
        return encoded
    }
}
