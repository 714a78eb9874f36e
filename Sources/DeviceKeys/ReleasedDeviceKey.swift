import Crypto

/// Where a TPM counts the generations of a keybag. docs/FORMAT.md, "The device key in a TPM".
struct SealedCounter: Hashable, Sendable {
    static let byteCount = 12

    /// The counter among those of the TPM.
    let index: UInt32
    /// What is added to the counter: together they are the lowest generation. Both wrap.
    let offset: UInt64

    init(index: UInt32, offset: UInt64) {
        self.index = index
        self.offset = offset
    }

    /// That of a counter which shows `value` while the lowest generation is `generation`.
    init(index: UInt32, showing value: UInt64, at generation: UInt64) {
        self.init(index: index, offset: generation &- value)
    }

    /// - Parameter bytes: 12.
    init(decoding bytes: [UInt8]) {
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(index: UInt32(number(0..<4)), offset: number(4..<12))
    }

    var encoded: [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: index >> (8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: offset >> (8 * $0)) }
    }

    func lowest(at value: UInt64) -> UInt64 { value &+ offset }
}

/// What a TPM releases: the device key, and where it counts generations.
///
/// Both are sealed together, so the counter cannot be taken away from the key.
struct ReleasedDeviceKey: ~Copyable {
    static let keyByteCount = 32

    let key: Secret
    /// Nil in a file of an earlier version, or if the TPM could make no counter.
    let counter: SealedCounter?

    private init(key: consuming Secret, counter: SealedCounter?) {
        self.key = key
        self.counter = counter
    }

    /// Nil for bytes that are no device key.
    static func decode(_ secret: borrowing Secret) throws(CryptoError) -> ReleasedDeviceKey? {
        let whole = keyByteCount + SealedCounter.byteCount
        guard secret.count == keyByteCount || secret.count == whole else { return nil }
        let bytes = secret.withBytes { $0.array(keyByteCount..<secret.count) }
        return ReleasedDeviceKey(
            key: try secret.slice(0..<keyByteCount), counter: bytes.isEmpty ? nil : SealedCounter(decoding: bytes))
    }

    static func encode(_ key: borrowing Secret, _ counter: SealedCounter?) throws(CryptoError) -> Secret {
        let bytes = counter?.encoded ?? []
        return try Secret(joining: key, Secret(copying: unsafe bytes.span.bytes))
    }
}
