/// Takes the fields of an input from its front; zeros when the input is used up.
struct Reader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// Little-endian.
    mutating func integer(bytes count: Int = 2) -> UInt64 {
        (0..<count).reduce(0) { value, index in value | UInt64(byte()) << UInt64(8 * index) }
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func remaining() -> [UInt8] { bytes(rest.count) }
}
