import Crypto
import Posix

/// A line of an Assuan server.
///
/// Source: the manual of Assuan, "Server responses".
enum AssuanReply: ~Copyable {
    case done
    /// A code of libgpg-error, and its text.
    case error(Int, Printable)
    /// A part of the answer, decoded; it may be empty.
    case data(Secret)

    /// Nil for a status or a comment. A line of any other kind counts as an error.
    static func parsed(_ line: borrowing Secret) throws(SecretReader.Failure) -> AssuanReply? {
        switch word(of: line) {
        case "OK": return .done
        case "D": return .data(try data(in: line))
        case "S", "#": return nil
        case "ERR": return error(in: line)
        // No text of it leaves its memory: a program of another kind may have written the passcode.
        default: return .error(0, "it does not speak Assuan")
        }
    }

    private static func error(in line: borrowing Secret) -> AssuanReply {
        let text = line.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0.prefix(200), as: UTF8.self) }
        }
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count > 1, let code = Int(parts[1]) else { return .error(0, "it does not speak Assuan") }
        return .error(code, Printable(parts.count > 2 ? String(parts[2]) : "error \(code)"))
    }

    /// The word that the line begins with, of those that a server says; empty for another one.
    private static func word(of line: borrowing Secret) -> String {
        line.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { bytes in
                if unsafe bytes.first == UInt8(ascii: "#") { return "#" }
                let word = unsafe bytes.prefix { $0 != UInt8(ascii: " ") }
                return ["OK", "D", "S", "ERR"].first { unsafe word.elementsEqual($0.utf8) } ?? ""
            }
        }
    }

    /// What follows "D ", with its %XX decoded.
    private static func data(in line: borrowing Secret) throws(SecretReader.Failure) -> Secret {
        do throws(CryptoError) {
            var decoded = try Secret(count: max(1, line.count))
            var count = 0
            line.withBytes { source in
                decoded.withMutableBytes { target in
                    var index = 2
                    while index < source.byteCount {
                        var byte = Self.byte(index, source)
                        if byte == UInt8(ascii: "%"), index + 2 < source.byteCount,
                            let high = digit(Self.byte(index + 1, source)),
                            let low = digit(Self.byte(index + 2, source))
                        {
                            byte = high << 4 | low
                            index += 2
                        }
                        target.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
                        (count, index) = (count + 1, index + 1)
                    }
                }
            }
            return try decoded.slice(0..<count)
        } catch { throw .noMemory(error) }
    }

    private static func byte(_ index: Int, _ bytes: RawSpan) -> UInt8 {
        unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
