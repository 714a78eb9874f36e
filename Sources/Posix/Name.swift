/// One component of a path: 1 to 255 bytes, any but "/" and NUL.
///
/// Linux does not ask that names be UTF-8, and neither does this. `.` and `..` are names too; a file system that must
/// not be asked for them checks `isDotOrDotDot`.
public struct Name: Hashable, Sendable {
    public static let maximumCount = 255

    public let bytes: [UInt8]

    /// Nil for no bytes, more than 255, or a "/" or NUL among them.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard 1...Name.maximumCount ~= bytes.count, !bytes.contains(0), !bytes.contains(UInt8(ascii: "/")) else {
            return nil
        }
        self.bytes = bytes
    }

    public var isDotOrDotDot: Bool {
        bytes == [UInt8(ascii: ".")] || bytes == [UInt8(ascii: "."), UInt8(ascii: ".")]
    }

    /// Lends the name as a C string, valid for the time of the call only.
    public func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withTerminated(bytes, body)
    }
}

extension Name: ExpressibleByStringLiteral {
    /// Traps if the literal is no name.
    public init(stringLiteral value: String) {
        guard let name = Name(bytes: value.utf8) else { preconditionFailure("not a file name: \(value)") }
        self = name
    }
}

extension Name: CustomStringConvertible {
    /// The name as text; bytes that are not UTF-8 show as U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
