/// The bytes of a hexadecimal text; spaces are ignored.
func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { $0 != " " }
    precondition(digits.count % 2 == 0)
    var bytes: [UInt8] = []
    var rest = digits[...]
    while !rest.isEmpty {
        bytes.append(UInt8(rest.prefix(2), radix: 16)!)
        rest = rest.dropFirst(2)
    }
    return bytes
}

/// `bytes` with one bit of byte `index` changed.
func flipping(_ index: Int, in bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes[index] ^= 1
    return bytes
}
