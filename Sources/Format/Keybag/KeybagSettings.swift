/// Settings that are fixed when the vault is made, or made a synchronised one.
public struct KeybagSettings: Hashable, Sendable {
    /// How a directory's record is stored.
    public enum DirectoryRecords: UInt8, Sendable {
        case symbolicLink = 1
        /// For backing stores without symbolic links.
        case file = 2
    }

    static let byteCount = 16
    static let blockSize = UInt32(BlockGeometry.blockSize)
    /// The sidecar of a long name, `lk.long.H.name`, has 56 characters.
    public static let nameMaximumRange: ClosedRange<UInt16> = 56...255
    /// Of a new synchronised vault, in bytes: a program can put its words behind each name.
    public static let nameMaximumOfSynchronised: UInt16 = 192

    /// Seconds since 1970.
    public let created: UInt64
    /// The longest name that the backing store takes, in bytes.
    public let nameMaximum: UInt16
    public let directoryRecords: DirectoryRecords
    /// How many wrong passcodes in a row destroy the keys; 0 for never.
    public let eraseAfter: UInt8

    public init(
        created: UInt64, nameMaximum: UInt16 = 255, directoryRecords: DirectoryRecords = .symbolicLink,
        eraseAfter: UInt8 = 0
    ) {
        precondition(Self.nameMaximumRange.contains(nameMaximum))
        self.created = created
        self.nameMaximum = nameMaximum
        self.directoryRecords = directoryRecords
        self.eraseAfter = eraseAfter
    }

    init(decoding value: [UInt8]) throws(FormatError) {
        var reader = KeybagReader(value)
        created = try reader.integer(as: UInt64.self)
        nameMaximum = try reader.integer(as: UInt16.self)
        guard Self.nameMaximumRange.contains(nameMaximum) else { throw .badField("name max") }
        guard let records = DirectoryRecords(rawValue: try reader.integer(as: UInt8.self)) else {
            throw .badField("directory records")
        }
        directoryRecords = records
        eraseAfter = try reader.integer(as: UInt8.self)
        guard try reader.integer(as: UInt32.self) == Self.blockSize else { throw .badField("block size") }
    }

    var encoded: [UInt8] {
        var value: [UInt8] = []
        value.append(littleEndian: created)
        value.append(littleEndian: nameMaximum)
        value += [directoryRecords.rawValue, eraseAfter]
        value.append(littleEndian: Self.blockSize)
        return value
    }
}
