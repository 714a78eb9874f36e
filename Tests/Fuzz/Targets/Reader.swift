/// Takes the fields of an input from its front; zeros when the input is used up.
struct Reader {
    private var unread: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { unread = bytes[...] }

    var isAtEnd: Bool { unread.isEmpty }

    mutating func byte() -> UInt8 { unread.popFirst() ?? 0 }

    /// Little-endian.
    mutating func integer(bytes count: Int = 2) -> UInt64 {
        (0..<count).reduce(0) { value, index in value | UInt64(byte()) << UInt64(8 * index) }
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { unread = unread.dropFirst(count) }
        return Array(unread.prefix(count))
    }

    mutating func remaining() -> [UInt8] { bytes(unread.count) }
}
