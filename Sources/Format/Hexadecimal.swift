// Bytes and numbers in hexadecimal digits. Not for secrets: nothing wipes a String.

private let digits = Array("0123456789abcdef".utf8)

extension String {
    /// Two lower-case digits for each byte.
    public init(hexadecimal bytes: some Sequence<UInt8>) {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        self.init(decoding: text, as: UTF8.self)
    }

    /// A number in at least `count` lower-case digits.
    public init(hexadecimal number: some FixedWidthInteger & UnsignedInteger, digits count: Int) {
        let text = String(number, radix: 16)
        self = String(repeating: "0", count: Swift.max(0, count - text.count)) + text
    }
}

extension [UInt8] {
    /// Nil for what is not two digits, of either case, for each byte.
    public init?(hexadecimal text: String) {
        var values: [UInt8] = []
        values.reserveCapacity(text.utf8.count)
        for digit in text.utf8 {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): values.append(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): values.append(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): values.append(digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        guard values.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }
}
