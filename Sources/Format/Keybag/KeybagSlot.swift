/// A keyslot: one wrap of the bundle of all keys.
public enum KeybagSlot: Hashable, Sendable {
    case passcode(PasscodeSlot)
    /// Wrapped with a key from the recovery key alone.
    case recovery(KeySlot)
    /// Wrapped with a key from a key file and the device key.
    case keyFile(KeySlot)
    /// Wrapped for the holder of a private key.
    case escrow(EscrowSlot)
    /// Wrapped with a key from the device key alone: a vault without a passcode.
    case open(KeySlot)
    /// Wrapped with a key from a security key's secret and the device key.
    case securityKey(SecurityKeySlot)
    /// A kind that this program does not know, kept unchanged.
    case other(KeybagRecordType, value: [UInt8])

    /// Bytes of the wrapped bundle in each slot.
    public static let wrappedBundleByteCount = 200
    /// Bytes of a slot's salt; that of a security key slot is longer.
    public static let saltByteCount = 16

    init(type: KeybagRecordType, value: [UInt8]) throws(FormatError) {
        switch type {
        case .passcodeSlot: self = .passcode(try PasscodeSlot(decoding: value))
        case .guardedSlot: self = .passcode(try PasscodeSlot(decoding: value, isGuarded: true))
        case .recoverySlot: self = .recovery(try KeySlot(decoding: value))
        case .keyFileSlot: self = .keyFile(try KeySlot(decoding: value))
        case .openSlot: self = .open(try KeySlot(decoding: value))
        case .escrowSlot: self = .escrow(try EscrowSlot(decoding: value))
        case .securityKeySlot: self = .securityKey(try SecurityKeySlot(decoding: value))
        case _ where type.isOtherSlot: self = .other(type, value: value)
        default: throw .badField("type of a record")
        }
    }

    var type: KeybagRecordType {
        switch self {
        case .passcode(let slot): slot.sealed == nil ? .passcodeSlot : .guardedSlot
        case .recovery: .recoverySlot
        case .keyFile: .keyFileSlot
        case .escrow: .escrowSlot
        case .open: .openSlot
        case .securityKey: .securityKeySlot
        case .other(let type, _): type
        }
    }

    /// The slot as its record has it: the type in two bytes, then the value.
    public var record: [UInt8] {
        [UInt8(truncatingIfNeeded: type.rawValue), UInt8(truncatingIfNeeded: type.rawValue >> 8)] + encoded
    }

    var encoded: [UInt8] {
        switch self {
        case .passcode(let slot): slot.encoded
        case .recovery(let slot), .keyFile(let slot), .open(let slot): slot.encoded
        case .escrow(let slot): slot.encoded
        case .securityKey(let slot): slot.encoded
        case .other(_, let value): value
        }
    }

    /// The fields at the beginning of every kind; nil if an unknown slot is too short.
    public var head: SlotHead? {
        switch self {
        case .passcode(let slot): slot.head
        case .recovery(let slot), .keyFile(let slot), .open(let slot): slot.head
        case .escrow(let slot): slot.head
        case .securityKey(let slot): slot.head
        case .other(_, let value): SlotHead(beginning: value)
        }
    }

    /// Empty for a kind that this program does not know.
    public var label: SlotLabel {
        switch self {
        case .passcode(let slot): slot.label
        case .recovery(let slot), .keyFile(let slot), .open(let slot): slot.label
        case .escrow(let slot): slot.label
        case .securityKey(let slot): slot.label
        case .other: .empty
        }
    }
}

/// The fields at the beginning of each slot.
public struct SlotHead: Hashable, Sendable {
    /// Unique in the keybag.
    public let identifier: UInt32
    /// Seconds since 1970.
    public let created: UInt64

    public init(identifier: UInt32, created: UInt64) {
        self.identifier = identifier
        self.created = created
    }

    init(_ reader: inout KeybagReader) throws(FormatError) {
        identifier = try reader.integer(as: UInt32.self)
        created = try reader.integer(as: UInt64.self)
    }

    /// The head of a slot of an unknown kind; nil if that is too short.
    init?(beginning value: [UInt8]) {
        var reader = KeybagReader(value)
        do throws(FormatError) { self = try SlotHead(&reader) } catch { return nil }
    }

    var encoded: [UInt8] {
        var value: [UInt8] = []
        value.append(littleEndian: identifier)
        value.append(littleEndian: created)
        return value
    }
}

/// A slot's name for people: at most 255 bytes of UTF-8.
public struct SlotLabel: Hashable, Sendable {
    public static let largest = 255
    public static let empty = SlotLabel(text: "")

    public let text: String

    /// Nil if it is too long.
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
