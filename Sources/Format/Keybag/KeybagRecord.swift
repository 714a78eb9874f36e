/// The type of a record in the keybag: its first two bytes.
public struct KeybagRecordType: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let settings = Self(rawValue: 1)
    public static let publicKey = Self(rawValue: 2)
    public static let deviceSlot = Self(rawValue: 3)
    public static let previousKeys = Self(rawValue: 4)
    public static let passcodeSlot = Self(rawValue: 16)
    public static let recoverySlot = Self(rawValue: 17)
    public static let keyFileSlot = Self(rawValue: 18)
    public static let escrowSlot = Self(rawValue: 19)
    public static let openSlot = Self(rawValue: 20)
    public static let guardedSlot = Self(rawValue: 21)
    public static let securityKeySlot = Self(rawValue: 22)

    /// A kind of slot that this program does not know, and keeps.
    var isOtherSlot: Bool { (23...255).contains(rawValue) }
}

/// Reads the fields of records in order.
struct KeybagReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func bytes(_ count: Int) throws(FormatError) -> [UInt8] {
        guard count <= rest.count else { throw .tooShort }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func integer<T: FixedWidthInteger & UnsignedInteger>(as type: T.Type) throws(FormatError) -> T {
        try bytes(T.bitWidth / 8).reversed().reduce(0) { $0 << 8 | T($1) }
    }

    mutating func zeros(_ count: Int) throws(FormatError) {
        guard try bytes(count).allSatisfy({ $0 == 0 }) else { throw .badField("reserved") }
    }

    mutating func remaining() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    /// Reads a whole record.
    mutating func record() throws(FormatError) -> (KeybagRecordType, value: [UInt8]) {
        let type = KeybagRecordType(rawValue: try integer(as: UInt16.self))
        try zeros(2)
        let count = try integer(as: UInt32.self)
        return (type, try bytes(Int(count)))
    }

    /// Reads the value of the next record, which must have this type and size.
    mutating func value(of type: KeybagRecordType, size: Int) throws(FormatError) -> [UInt8] {
        let (found, value) = try record()
        guard found == type else { throw .badField("order of records") }
        guard value.count == size else { throw .badField("size of a record") }
        return value
    }
}

extension [UInt8] {
    mutating func append<T: FixedWidthInteger & UnsignedInteger>(littleEndian value: T) {
        for shift in stride(from: 0, to: T.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    mutating func append(_ type: KeybagRecordType, value: [UInt8]) {
        append(littleEndian: type.rawValue)
        append(littleEndian: UInt16(0))
        append(littleEndian: UInt32(value.count))
        self += value
    }
}
