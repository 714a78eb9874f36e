/// The file `lk.keybag`: settings, B's public key, and the slots with the wrapped keys. Its secrets are wrapped;
/// everything else may be public.
///
/// Decoding checks everything that needs no key. The caller has the keys, and checks and appends the two MACs. Layout:
/// docs/FORMAT.md, "The keybag".
public struct KeybagFile: Hashable, Sendable {
    public static let largest = 65_536
    /// Both MACs together.
    public static let tagsByteCount = 64
    public static let tagByteCount = 32
    public static let publicKeyByteCount = 32
    public static let deviceSlotByteCount = 72

    /// The first bytes of the file.
    public static let magic: [UInt8] = Array("LKKEYBAG".utf8)
    public static let version: UInt16 = 1
    static let headByteCount = 52

    public var features = FeatureBits.none
    /// Present during a key rotation, together with its incompatible feature.
    public var previousKeys: PreviousKeys? {
        didSet {
            features.incompatible &= ~Self.rotatingFeature
            if previousKeys != nil { features.incompatible |= Self.rotatingFeature }
        }
    }
    public let volume: VolumeIdentifier
    /// Grows by 1 at each write.
    public var generation: UInt64
    /// No keybag is written so often: a higher one was made to end the counting.
    public static let highestGeneration: UInt64 = 1 << 62
    public internal(set) var settings: KeybagSettings
    /// The public key of class B: X25519, 32 bytes.
    public var publicKey: [UInt8]
    /// Volume key and class key D, wrapped with a key from the device key: 72 bytes.
    public var deviceSlot: [UInt8]
    public var slots: [KeybagSlot]

    public init(
        volume: VolumeIdentifier, settings: KeybagSettings, publicKey: [UInt8], deviceSlot: [UInt8], slots: [KeybagSlot]
    ) {
        precondition(publicKey.count == Self.publicKeyByteCount && deviceSlot.count == Self.deviceSlotByteCount)
        self.volume = volume
        generation = 1
        features.incompatible = Self.featuresOfNew
        self.settings = settings
        self.publicKey = publicKey
        self.deviceSlot = deviceSlot
        self.slots = slots
    }

    /// Decodes a whole file, without checking its MACs.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount >= Self.headByteCount + Self.tagsByteCount else { throw .tooShort }
        guard bytes.array(0..<8) == Self.magic else { throw .wrongMagic }
        let version = bytes.integer(at: 8, as: UInt16.self)
        guard version == Self.version else { throw .unknownVersion(version) }
        guard bytes.isZero(10..<12) else { throw .badField("reserved") }
        guard bytes.byteCount <= Self.largest, bytes.integer(at: 12, as: UInt32.self) == bytes.byteCount else {
            throw .badField("size")
        }
        let features = FeatureBits(bytes, at: 16)
        self.features = features
        guard features.incompatible & ~Self.knownFeatures == 0 else { throw .unknownFeature }
        volume = VolumeIdentifier(bytes, at: 28)
        generation = bytes.integer(at: 44, as: UInt64.self)
        guard generation <= Self.highestGeneration else { throw .badField("generation") }

        var records = KeybagReader(bytes.array(Self.headByteCount..<bytes.byteCount - Self.tagsByteCount))
        settings = try KeybagSettings(decoding: records.value(of: .settings, size: KeybagSettings.byteCount))
        publicKey = try records.value(of: .publicKey, size: Self.publicKeyByteCount)
        deviceSlot = try records.value(of: .deviceSlot, size: Self.deviceSlotByteCount)
        if features.incompatible & Self.rotatingFeature != 0 {
            previousKeys = PreviousKeys(
                decoding: try records.value(of: .previousKeys, size: PreviousKeys.byteCount))
        }
        slots = []
        while !records.isAtEnd {
            let (type, value) = try records.record()
            slots.append(try KeybagSlot(type: type, value: value))
        }
        let identifiers = slots.compactMap { $0.head?.identifier }
        guard Set(identifiers).count == identifiers.count else { throw .badField("slot numbers") }
    }

    /// Everything but the MACs, which the caller appends: the unlock MAC covers this, the device MAC this and the
    /// unlock MAC.
    ///
    /// - Throws: `badField` if the keybag would be too large.
    public func encodeWithoutTags() throws(FormatError) -> [UInt8] {
        var records: [UInt8] = []
        records.append(.settings, value: settings.encoded)
        records.append(.publicKey, value: publicKey)
        records.append(.deviceSlot, value: deviceSlot)
        if let previousKeys { records.append(.previousKeys, value: previousKeys.encoded) }
        for slot in slots { records.append(slot.type, value: slot.encoded) }

        let size = Self.headByteCount + records.count + Self.tagsByteCount
        guard size <= Self.largest else { throw .badField("size") }
        var head = [UInt8](repeating: 0, count: Self.headByteCount)
        var elements = head.mutableSpan
        var bytes = unsafe elements.mutableBytes
        bytes.store(Self.magic, at: 0)
        bytes.store(Self.version, at: 8)
        bytes.store(UInt32(size), at: 12)
        features.store(into: &bytes, at: 16)
        volume.store(into: &bytes, at: 28)
        bytes.store(generation, at: 44)
        return head + records
    }
}
