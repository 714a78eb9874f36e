/// base64url without padding, RFC 4648 section 5; strict, so that each byte string has exactly one text.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The six bits of each character, or 255.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// How many characters `count` bytes take.
    public static func encodedCount(_ count: Int) -> Int { (count * 4 + 2) / 3 }

    /// How many bytes `count` characters hold; nil if no text has this length.
    public static func decodedCount(_ count: Int) -> Int? { count % 4 == 1 ? nil : count * 3 / 4 }

    public static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text = [UInt8]()
        text.reserveCapacity(encodedCount(bytes.count))
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(alphabet[Int(bits >> UInt32(bitCount)) & 63])
            }
        }
        if bitCount > 0 { text.append(alphabet[Int(bits << UInt32(6 - bitCount)) & 63]) }
        return text
    }

    /// The bytes; nil for padding, a character outside the alphabet, an impossible length, or unused bits that are not
    /// zero.
    public static func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes = [UInt8]()
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for character in text {
            let value = values[Int(character)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        guard bits & (1 << UInt32(bitCount) - 1) == 0 else { return nil }
        return bytes
    }
}
