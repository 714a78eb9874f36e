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

    public init(directory: DirectoryIdentifier, defaultClass: ProtectionClass, isExplicit: Bool) {
        self.directory = directory
        self.defaultClass = defaultClass
        self.isExplicit = isExplicit
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
        guard bytes.isZero(18..<28) else { throw .badField("reserved") }
    }

    public var encoded: [UInt8] {
        directory.bytes + [defaultClass.rawValue, isExplicit ? 1 : 0] + [UInt8](repeating: 0, count: 10)
    }
}
