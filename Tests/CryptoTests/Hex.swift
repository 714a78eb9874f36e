import Crypto

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

func secret(_ bytes: [UInt8]) throws(CryptoError) -> Secret { try unsafe Secret(copying: bytes.span.bytes) }

extension Secret {
    /// What no program but a test does.
    var exposed: [UInt8] { withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe Array($0) } } }
}

/// `bytes` with one bit of byte `index` changed.
func flipping(_ index: Int, in bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    bytes[index] ^= 1
    return bytes
}
