import Format

/// The bytes of a hexadecimal text; spaces are ignored.
func hex(_ text: String) -> [UInt8] {
    [UInt8](hexadecimal: text.filter { $0 != " " })!
}

/// `bytes` with one bit of byte `index` changed.
func flipping(_ index: Int, in bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes[index] ^= 1
    return bytes
}
