/// A keybag under a passphrase of its own, which opens on any machine: docs/FORMAT.md, "A keybag's backup".
///
/// Decoding checks everything that needs no key. The caller has the key, and checks and appends the MAC.
public struct KeybagBackup: Hashable, Sendable {
    public static let largest = headByteCount + KeybagFile.largest
    public static let tagByteCount = 32
    public static let magic: [UInt8] = Array("LKBACKUP".utf8)
    static let version: UInt16 = 1
    static let headByteCount = 268

    /// Seconds since 1970.
    public let created: UInt64
    public let memoryKiB: UInt32
    public let passes: UInt32
    public let lanes: UInt32
    public let salt: [UInt8]
    public let wrappedBundle: [UInt8]
    /// The keybag at the time of the backup. Its device slot, and slots that need the device key, do not open on
    /// another machine.
    public let keybag: KeybagFile

    public var volume: VolumeIdentifier { keybag.volume }

    public init(
        _ keybag: KeybagFile, created: UInt64, memoryKiB: UInt32, passes: UInt32, lanes: UInt32, salt: [UInt8],
        wrappedBundle: [UInt8]
    ) {
        precondition(salt.count == KeybagSlot.saltByteCount)
        precondition(wrappedBundle.count == KeybagSlot.wrappedBundleByteCount)
        self.created = created
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
        self.salt = salt
        self.wrappedBundle = wrappedBundle
        self.keybag = keybag
    }

    /// Decodes a whole file, without checking its MAC.
    public init(decoding bytes: [UInt8]) throws(FormatError) {
        guard bytes.count >= Self.headByteCount + Self.tagByteCount else { throw .tooShort }
        var reader = KeybagReader(bytes)
        guard try reader.bytes(8) == Self.magic else { throw .wrongMagic }
        let version: UInt16 = try reader.integer(as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        try reader.zeros(2)
        guard bytes.count <= Self.largest, try reader.integer(as: UInt32.self) == bytes.count else {
            throw .badField("size")
        }
        let volume = VolumeIdentifier(try reader.bytes(16))
        created = try reader.integer(as: UInt64.self)
        memoryKiB = try reader.integer(as: UInt32.self)
        passes = try reader.integer(as: UInt32.self)
        lanes = try reader.integer(as: UInt32.self)
        guard PasscodeSlot.memoryRange ~= memoryKiB, PasscodeSlot.passesRange ~= passes,
            PasscodeSlot.lanesRange ~= lanes
        else { throw .badField("Argon2 cost") }
        salt = try reader.bytes(KeybagSlot.saltByteCount)
        wrappedBundle = try reader.bytes(KeybagSlot.wrappedBundleByteCount)
        let body = bytes[Self.headByteCount..<bytes.count - Self.tagByteCount]
        // A backup leaves out the keybag's own MACs; one MAC covers all of it.
        let whole = Array(body) + [UInt8](repeating: 0, count: KeybagFile.tagsByteCount)
        keybag = try KeybagFile(decoding: unsafe whole.span.bytes)
        guard keybag.volume == volume else { throw .badField("volume ID") }
    }

    /// Everything but the MAC, which the caller appends.
    public func encodeWithoutTag() throws(FormatError) -> [UInt8] {
        let body = try keybag.encodeWithoutTags()
        var bytes = Self.magic
        bytes.append(littleEndian: Self.version)
        bytes.append(littleEndian: UInt16(0))
        bytes.append(littleEndian: UInt32(Self.headByteCount + body.count + Self.tagByteCount))
        bytes += volume.bytes
        bytes.append(littleEndian: created)
        bytes.append(littleEndian: memoryKiB)
        bytes.append(littleEndian: passes)
        bytes.append(littleEndian: lanes)
        return bytes + salt + wrappedBundle + body
    }
}
