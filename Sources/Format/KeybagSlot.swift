/// One way to the bundle of all keys.
public enum KeybagSlot: Hashable, Sendable {
    case passcode(PasscodeSlot)
    case recovery(RecoverySlot)
    /// Of a kind that this program does not know, kept as it is.
    case other(KeybagRecordType, value: [UInt8])

    /// Bytes of the wrapped bundle in each slot.
    public static let wrappedBundleByteCount = 200
    /// Of the salt in each slot.
    public static let saltByteCount = 16

    init(type: KeybagRecordType, value: [UInt8]) throws(FormatError) {
        switch type {
        case .passcodeSlot: self = .passcode(try PasscodeSlot(decoding: value))
        case .recoverySlot: self = .recovery(try RecoverySlot(decoding: value))
        case _ where type.isOtherSlot: self = .other(type, value: value)
        default: throw .badField("type of a record")
        }
    }

    var type: KeybagRecordType {
        switch self {
        case .passcode: .passcodeSlot
        case .recovery: .recoverySlot
        case .other(let type, _): type
        }
    }

    var encoded: [UInt8] {
        switch self {
        case .passcode(let slot): slot.encoded
        case .recovery(let slot): slot.encoded
        case .other(_, let value): value
        }
    }
}

/// The bundle under a passcode and the device key.
public struct PasscodeSlot: Hashable, Sendable {
    public static let memoryRange: ClosedRange<UInt32> = 19_456...4_194_304
    public static let passesRange: ClosedRange<UInt32> = 1...64
    public static let lanesRange: ClosedRange<UInt32> = 1...16

    static let argon2Version: UInt8 = 0x13

    public let identifier: UInt32
    /// Seconds since 1970.
    public let created: UInt64
    public let memoryKiB: UInt32
    public let passes: UInt32
    public let lanes: UInt32
    public let salt: [UInt8]
    public let wrappedBundle: [UInt8]
    public let label: SlotLabel

    public init(
        identifier: UInt32, created: UInt64, memoryKiB: UInt32, passes: UInt32, lanes: UInt32, salt: [UInt8],
        wrappedBundle: [UInt8], label: SlotLabel
    ) {
        precondition(salt.count == KeybagSlot.saltByteCount)
        precondition(wrappedBundle.count == KeybagSlot.wrappedBundleByteCount)
        self.identifier = identifier
        self.created = created
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
        self.salt = salt
        self.wrappedBundle = wrappedBundle
        self.label = label
    }

    /// Refuses a cost out of bounds, so that nobody computes with it: too little is a stolen passcode, too much a
    /// machine that stands still.
    init(decoding value: [UInt8]) throws(FormatError) {
        var reader = KeybagReader(value)
        identifier = try reader.integer(as: UInt32.self)
        created = try reader.integer(as: UInt64.self)
        guard try reader.integer(as: UInt8.self) == Self.argon2Version else { throw .badField("Argon2 version") }
        try reader.zeros(3)
        memoryKiB = try reader.integer(as: UInt32.self)
        passes = try reader.integer(as: UInt32.self)
        lanes = try reader.integer(as: UInt32.self)
        guard Self.memoryRange.contains(memoryKiB) else { throw .badField("Argon2 memory") }
        guard Self.passesRange.contains(passes) else { throw .badField("Argon2 passes") }
        guard Self.lanesRange.contains(lanes) else { throw .badField("Argon2 lanes") }
        salt = try reader.bytes(KeybagSlot.saltByteCount)
        wrappedBundle = try reader.bytes(KeybagSlot.wrappedBundleByteCount)
        label = try SlotLabel(decoding: reader.remaining())
    }

    var encoded: [UInt8] {
        var value: [UInt8] = []
        value.append(littleEndian: identifier)
        value.append(littleEndian: created)
        value += [Self.argon2Version, 0, 0, 0]
        value.append(littleEndian: memoryKiB)
        value.append(littleEndian: passes)
        value.append(littleEndian: lanes)
        return value + salt + wrappedBundle + label.bytes
    }
}

/// The bundle under the recovery key, which needs no device key.
public struct RecoverySlot: Hashable, Sendable {
    public let identifier: UInt32
    /// Seconds since 1970.
    public let created: UInt64
    public let salt: [UInt8]
    public let wrappedBundle: [UInt8]
    public let label: SlotLabel

    public init(identifier: UInt32, created: UInt64, salt: [UInt8], wrappedBundle: [UInt8], label: SlotLabel) {
        precondition(salt.count == KeybagSlot.saltByteCount)
        precondition(wrappedBundle.count == KeybagSlot.wrappedBundleByteCount)
        self.identifier = identifier
        self.created = created
        self.salt = salt
        self.wrappedBundle = wrappedBundle
        self.label = label
    }

    init(decoding value: [UInt8]) throws(FormatError) {
        var reader = KeybagReader(value)
        identifier = try reader.integer(as: UInt32.self)
        created = try reader.integer(as: UInt64.self)
        salt = try reader.bytes(KeybagSlot.saltByteCount)
        wrappedBundle = try reader.bytes(KeybagSlot.wrappedBundleByteCount)
        label = try SlotLabel(decoding: reader.remaining())
    }

    var encoded: [UInt8] {
        var value: [UInt8] = []
        value.append(littleEndian: identifier)
        value.append(littleEndian: created)
        return value + salt + wrappedBundle + label.bytes
    }
}

/// A slot's name for people: at most 255 bytes of UTF-8.
public struct SlotLabel: Hashable, Sendable {
    public static let largest = 255
    public static let empty = SlotLabel(text: "")

    public let text: String

    /// Nil when it is too long.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.largest else { return nil }
        self.init(text: text)
    }

    private init(text: String) { self.text = text }

    init(decoding bytes: [UInt8]) throws(FormatError) {
        guard bytes.count <= Self.largest, let text = String(validating: bytes, as: UTF8.self) else {
            throw .badField("label")
        }
        self.text = text
    }

    var bytes: [UInt8] { Array(text.utf8) }
}
