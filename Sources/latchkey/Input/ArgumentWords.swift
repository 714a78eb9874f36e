import ArgumentParser
import Glibc
import Posix

/// The arguments of this process, which are bytes, as text for the parser, which takes only text.
///
/// A byte that belongs to no UTF-8 character becomes one of 128 scalars at the end of plane 16, which is for private
/// use: U+10FF80 for 0x80, U+10FFFF for 0xff. Such a scalar in an argument becomes four of them, one for each of its
/// bytes. So two different arguments stay different, and `Path(argument:)` gives back the bytes.
enum ArgumentWords {
    /// As the program was called, its name first.
    static let bytes: [[UInt8]] = (0..<Int(CommandLine.argc)).compactMap { index in
        unsafe CommandLine.unsafeArgv[index].map { unsafe Path(cString: $0).bytes }
    }

    /// The same for the parser.
    static let all = bytes.map(text)

    static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !text.unicodeScalars.contains(where: isMapped) {
            return text
        }
        var text = String.UnicodeScalarView()
        var decoder = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var start = 0
        while true {
            switch decoder.parseScalar(from: &rest) {
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                if isMapped(scalar) { text += encoded.map(mapped) } else { text.append(scalar) }
                start += encoded.count
            case .error(let length):
                text += bytes[start..<start + length].map(mapped)
                start += length
            case .emptyInput:
                return String(text)
            }
        }
    }

    /// The bytes of a word of the parser.
    static func bytes(_ text: some StringProtocol) -> [UInt8] {
        text.unicodeScalars.flatMap { isMapped($0) ? [UInt8($0.value - offset)] : Array(String($0).utf8) }
    }

    /// The offset of a byte's scalar.
    private static let offset: UInt32 = 0x10ff00

    private static func mapped(_ byte: UInt8) -> Unicode.Scalar { Unicode.Scalar(offset + UInt32(byte))! }

    /// Whether it stands for a byte.
    static func isMapped(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= offset + 0x80 }
}

extension Path: ExpressibleByArgument {
    public init(argument: String) { self.init(bytes: ArgumentWords.bytes(argument)) }
}

/// For an argument that is text, and not the path of a file.
func textOnly(_ argument: String) throws -> String {
    guard let text = Path(argument: argument).text else { throw ValidationError("It must be UTF-8.") }
    return text
}
