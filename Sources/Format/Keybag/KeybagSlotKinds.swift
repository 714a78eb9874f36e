/// The bundle, wrapped with a key from a passcode and the device key, and perhaps from a TPM that counts wrong
/// passcodes.
public struct PasscodeSlot: Hashable, Sendable {
    public static let memoryRange: ClosedRange<UInt32> = 19_456...4_194_304
    public static let passesRange: ClosedRange<UInt32> = 1...64
    public static let lanesRange: ClosedRange<UInt32> = 1...16

    static let argon2Version: UInt8 = 0x13
    /// Sizes of what a TPM has sealed, in bytes.
    public static let sealedRange: ClosedRange<Int> = 1...1024

    public let head: SlotHead
    public let memoryKiB: UInt32
    public let passes: UInt32
    public let lanes: UInt32
    public let salt: [UInt8]
    /// The part of the key that this machine's TPM has sealed and releases only for the passcode; nil without a TPM.
    public let sealed: [UInt8]?
    public let wrappedBundle: [UInt8]
    public let label: SlotLabel

    public init(
        _ head: SlotHead, memoryKiB: UInt32, passes: UInt32, lanes: UInt32, salt: [UInt8], sealed: [UInt8]? = nil,
        wrappedBundle: [UInt8], label: SlotLabel
    ) {
        precondition(sealed.map { Self.sealedRange ~= $0.count } ?? true)
        precondition(salt.count == KeybagSlot.saltByteCount)
        precondition(wrappedBundle.count == KeybagSlot.wrappedBundleByteCount)
        self.head = head
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
        self.salt = salt
        self.sealed = sealed
        self.wrappedBundle = wrappedBundle
        self.label = label
    }

    /// Refuses a cost out of bounds before anything is computed: too low a cost lets an attacker guess the passcode,
    /// too high a one blocks the machine.
    init(decoding value: [UInt8], isGuarded: Bool = false) throws(FormatError) {
        var reader = KeybagReader(value)
        head = try SlotHead(&reader)
        guard try reader.integer(as: UInt8.self) == Self.argon2Version else { throw .badField("Argon2 version") }
        try reader.zeros(3)
        memoryKiB = try reader.integer(as: UInt32.self)
        passes = try reader.integer(as: UInt32.self)
        lanes = try reader.integer(as: UInt32.self)
        guard Self.memoryRange.contains(memoryKiB) else { throw .badField("Argon2 memory") }
        guard Self.passesRange.contains(passes) else { throw .badField("Argon2 passes") }
        guard Self.lanesRange.contains(lanes) else { throw .badField("Argon2 lanes") }
        salt = try reader.bytes(KeybagSlot.saltByteCount)
        if isGuarded {
            let count = Int(try reader.integer(as: UInt16.self))
            guard Self.sealedRange ~= count else { throw .badField("size of what is sealed") }
            sealed = try reader.bytes(count)
        } else {
            sealed = nil
        }
        wrappedBundle = try reader.bytes(KeybagSlot.wrappedBundleByteCount)
        label = try SlotLabel(decoding: reader.remaining())
    }

    var encoded: [UInt8] {
        var value = head.encoded
        value += [Self.argon2Version, 0, 0, 0]
        value.append(littleEndian: memoryKiB)
        value.append(littleEndian: passes)
        value.append(littleEndian: lanes)
        value += salt
        if let sealed {
            value.append(littleEndian: UInt16(sealed.count))
            value += sealed
        }
        return value + wrappedBundle + label.bytes
    }
}

/// The bundle, wrapped with a key from 32 random bytes.
public struct KeySlot: Hashable, Sendable {
    public let head: SlotHead
    public let salt: [UInt8]
    public let wrappedBundle: [UInt8]
    public let label: SlotLabel

    public init(_ head: SlotHead, salt: [UInt8], wrappedBundle: [UInt8], label: SlotLabel) {
        precondition(salt.count == KeybagSlot.saltByteCount)
        precondition(wrappedBundle.count == KeybagSlot.wrappedBundleByteCount)
        self.head = head
        self.salt = salt
        self.wrappedBundle = wrappedBundle
        self.label = label
    }

    init(decoding value: [UInt8]) throws(FormatError) {
        var reader = KeybagReader(value)
        head = try SlotHead(&reader)
        salt = try reader.bytes(KeybagSlot.saltByteCount)
        wrappedBundle = try reader.bytes(KeybagSlot.wrappedBundleByteCount)
        label = try SlotLabel(decoding: reader.remaining())
    }

    var encoded: [UInt8] { head.encoded + salt + wrappedBundle + label.bytes }
}

/// The bundle, wrapped for the holder of an X25519 private key. Making it needs the public key alone.
public struct EscrowSlot: Hashable, Sendable {
    static let keyByteCount = 32

    public let head: SlotHead
    /// The organisation's: 32 bytes.
    public let publicKey: [UInt8]
    /// Made for this one wrap: 32 bytes.
    public let ephemeralKey: [UInt8]
    public let wrappedBundle: [UInt8]
    public let label: SlotLabel

    public init(
        _ head: SlotHead, publicKey: [UInt8], ephemeralKey: [UInt8], wrappedBundle: [UInt8], label: SlotLabel
    ) {
        precondition(publicKey.count == Self.keyByteCount && ephemeralKey.count == Self.keyByteCount)
        precondition(wrappedBundle.count == KeybagSlot.wrappedBundleByteCount)
        self.head = head
        self.publicKey = publicKey
        self.ephemeralKey = ephemeralKey
        self.wrappedBundle = wrappedBundle
        self.label = label
    }

    init(decoding value: [UInt8]) throws(FormatError) {
        var reader = KeybagReader(value)
        head = try SlotHead(&reader)
        publicKey = try reader.bytes(Self.keyByteCount)
        ephemeralKey = try reader.bytes(Self.keyByteCount)
        wrappedBundle = try reader.bytes(KeybagSlot.wrappedBundleByteCount)
        label = try SlotLabel(decoding: reader.remaining())
    }

    var encoded: [UInt8] { head.encoded + publicKey + ephemeralKey + wrappedBundle + label.bytes }
}
