/// The extended attributes of one file or directory that the backing store does not take, before they are encrypted.
/// docs/FORMAT.md, "Sidecars of attributes".
///
/// 8 to 1,048,576 bytes when encoded.
public struct AttributeSidecar: Hashable, Sendable {
    static let version: UInt8 = 1
    static let headByteCount = 8
    /// The size of an entry without its name and value, in bytes.
    static let entryByteCount = 5
    /// The largest size when encoded, in bytes: 15 values of the largest size that Linux takes, and many small ones.
    public static let largest = 1 << 20
    /// The size of the nonce and the tag around it, in bytes.
    public static let sealByteCount = 32

    public struct Attribute: Hashable, Sendable {
        public let name: [UInt8]
        public let value: [UInt8]
    }

    /// Whether another file may have the owner's ID, as a copier makes one that does not know of hard links.
    public var isShared = false
    /// In ascending order of the names, byte by byte; no name is there twice.
    public private(set) var attributes: [Attribute] = []

    public init() {}

    /// The value of the attribute of that name; nil if it is not here. To set, names have 1 to 255 bytes, values at
    /// most 65,536.
    public subscript(name: [UInt8]) -> [UInt8]? {
        get {
            let index = index(of: name)
            return index < attributes.count && attributes[index].name == name ? attributes[index].value : nil
        }
        set {
            let index = index(of: name)
            if index < attributes.count, attributes[index].name == name { attributes.remove(at: index) }
            if let newValue { attributes.insert(Attribute(name: name, value: newValue), at: index) }
        }
    }

    /// The first index whose name is not before `name`.
    private func index(of name: [UInt8]) -> Int {
        var (low, high) = (0, attributes.count)
        while low < high {
            let middle = (low + high) / 2
            if attributes[middle].name.lexicographicallyPrecedes(name) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension AttributeSidecar {
    /// Decodes what was encrypted, which must end with the last attribute.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount >= 1 else { throw .tooShort }
        let version = bytes.integer(at: 0, as: UInt8.self)
        guard version == Self.version else { throw .unknownVersion(UInt16(version)) }
        guard bytes.byteCount >= Self.headByteCount else { throw .tooShort }
        guard bytes.byteCount <= Self.largest else { throw .badField("size") }
        let flags = bytes.integer(at: 1, as: UInt8.self)
        guard flags <= 1 else { throw .badField("flags") }
        isShared = flags == 1
        guard bytes.isZero(2..<8) else { throw .badField("reserved") }
        var offset = Self.headByteCount
        while offset < bytes.byteCount {
            let attribute = try Self.attribute(in: bytes, at: &offset)
            if let last = attributes.last, !last.name.lexicographicallyPrecedes(attribute.name) {
                throw .badField("order of names")
            }
            attributes.append(attribute)
        }
    }

    /// Decodes the attribute at `offset`, and moves `offset` behind it.
    private static func attribute(in bytes: RawSpan, at offset: inout Int) throws(FormatError) -> Attribute {
        guard bytes.byteCount - offset >= entryByteCount else { throw .tooShort }
        let nameCount = Int(bytes.integer(at: offset, as: UInt8.self))
        let valueCount = bytes.integer(at: offset + 1, as: UInt32.self)
        guard nameCount > 0 else { throw .badField("name") }
        guard valueCount <= UInt32(AttributeName.largestValue) else { throw .badField("value") }
        let name = offset + entryByteCount
        let value = name + nameCount
        let end = value + Int(valueCount)
        guard end <= bytes.byteCount else { throw .tooShort }
        offset = end
        return Attribute(name: bytes.array(name..<value), value: bytes.array(value..<end))
    }

    /// The size when encoded, in bytes.
    public var encodedCount: Int {
        attributes.reduce(Self.headByteCount) { $0 + Self.entryByteCount + $1.name.count + $1.value.count }
    }

    /// What is encrypted.
    public var encoded: [UInt8] {
        var result = [Self.version, isShared ? 1 : 0, 0, 0, 0, 0, 0, 0]
        result.reserveCapacity(encodedCount)
        for attribute in attributes {
            result.append(UInt8(attribute.name.count))
            let count = UInt32(attribute.value.count)
            for shift in stride(from: 0, to: 32, by: 8) { result.append(UInt8(truncatingIfNeeded: count >> shift)) }
            result += attribute.name
            result += attribute.value
        }
        return result
    }
}
