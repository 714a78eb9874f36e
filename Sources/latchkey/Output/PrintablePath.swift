/// Bytes of a name as a terminal may show them: UTF-8 as it is, all else as `\xNN`, so that no name in a vault can
/// play with it.
struct PrintablePath {
    let text: String

    init(_ bytes: [UInt8]) {
        guard let whole = String(validating: bytes, as: UTF8.self) else {
            text = bytes.map { 0x20..<0x7f ~= $0 ? String(Unicode.Scalar($0)) : Self.escaped($0) }.joined()
            return
        }
        text = whole.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
                scalar.utf8.map(Self.escaped).joined()
            default: String(scalar)
            }
        }.joined()
    }

    private static func escaped(_ byte: UInt8) -> String { "\\x" + HexDump.hexadecimal(byte, digits: 2) }
}

extension Unicode.Scalar {
    fileprivate var utf8: [UInt8] { Array(String(self).utf8) }
}
