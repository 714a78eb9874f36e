public import Crypto
public import Failure

/// The recovery key in writing: Crockford's base32 in 13 groups of four, with 4 check bits at the end.
///
/// Source: docs/FORMAT.md, "The recovery key".
public enum RecoveryKeyText {
    /// Number of characters, hyphens included.
    public static let characterCount = 64
    static let keyByteCount = 32
    private static let digitCount = 52
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// A new key: 32 bytes.
    public static func generate() throws(CryptoError) -> Secret { try Secret(random: keyByteCount) }

    /// The text in ASCII, in locked memory like the key.
    /// - Parameter key: 32 bytes.
    public static func encode(_ key: borrowing Secret) throws(CryptoError) -> Secret {
        precondition(key.count == keyByteCount)
        return try Secret(count: characterCount) { (text) throws(CryptoError) in
            key.withBytes { key in
                var offset = 0
                for digit in 0..<digitCount {
                    if digit > 0 && digit % 4 == 0 {
                        text.storeBytes(of: UInt8(ascii: "-"), toByteOffset: offset, as: UInt8.self)
                        offset += 1
                    }
                    var value = 0
                    for bit in digit * 5..<digit * 5 + 5 { value = value << 1 | self.bit(bit, of: key) }
                    text.storeBytes(of: alphabet[value], toByteOffset: offset, as: UInt8.self)
                    offset += 1
                }
            }
        }
    }

    /// Decodes the text. Hyphens, white space and case do not matter; O is read as 0, I and L as 1.
    /// - Throws: `malformedRecoveryKey` for a wrong length, an invalid character, or wrong check bits.
    public static func decode(_ text: borrowing Secret) throws(Failure) -> Secret {
        var key = try crypto(try Secret(count: keyByteCount))
        let check = try text.withBytes { text throws(Failure) in
            try key.withMutableBytes { key throws(Failure) in try decode(text, into: &key) }
        }
        guard key.withBytes({ checkBits(of: $0) }) == check else { throw .malformedRecoveryKey }
        return key
    }

    /// The check bits that the text ends with.
    private static func decode(_ text: RawSpan, into key: inout MutableRawSpan) throws(Failure) -> UInt8 {
        var digits = 0
        var pending: UInt32 = 0
        var pendingBits = 0
        var filled = 0
        for offset in 0..<text.byteCount {
            let character = text.byte(offset)
            if isIgnored(character) { continue }
            guard let value = value(of: character), digits < digitCount else { throw .malformedRecoveryKey }
            digits += 1
            pending = pending << 5 | UInt32(value)
            pendingBits += 5
            guard pendingBits >= 8, filled < keyByteCount else { continue }
            pendingBits -= 8
            key.storeBytes(
                of: UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits)), toByteOffset: filled, as: UInt8.self)
            filled += 1
        }
        guard digits == digitCount else { throw .malformedRecoveryKey }
        return UInt8(pending & 15)
    }

    private static func isIgnored(_ character: UInt8) -> Bool {
        character == UInt8(ascii: "-") || character == UInt8(ascii: " ") || (9...13).contains(character)
    }

    private static func value(of character: UInt8) -> UInt8? {
        let isLowercase = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
        switch isLowercase ? character - 32 : character {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        case let upper: return alphabet.firstIndex(of: upper).map { UInt8($0) }
        }
    }

    /// Bit `index` of the key, most significant first, followed by the check bits.
    private static func bit(_ index: Int, of key: RawSpan) -> Int {
        index < keyByteCount * 8
            ? Int(key.byte(index / 8) >> UInt8(7 - index % 8)) & 1
            : Int(checkBits(of: key) >> UInt8(3 - (index - keyByteCount * 8))) & 1
    }

    /// Four bits of a hash of the key: they do not help to guess it.
    private static func checkBits(of key: RawSpan) -> UInt8 { sha256(key)[0] >> 4 }
}

extension RawSpan {
    func byte(_ offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}
