/// One component of a path: 1 to 255 bytes without "/" and NUL, and neither `.` nor `..`.
///
/// A call that takes a folder and a name stays in that folder, whatever bytes the name has. Linux does not require
/// names to be UTF-8, and neither does this type.
public struct Name: Hashable, Sendable {
    public static let maximumCount = 255

    public let bytes: [UInt8]

    /// Nil for no bytes, more than 255, bytes with a "/" or NUL, `.` and `..`.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard 1...Name.maximumCount ~= bytes.count, !bytes.contains(0), !bytes.contains(UInt8(ascii: "/")) else {
            return nil
        }
        self.bytes = bytes
        if isDotOrDotDot { return nil }
    }

    private init(literal bytes: [UInt8]) { self.bytes = bytes }

    /// The folder itself, to open it again.
    public static let current = Name(literal: [UInt8(ascii: ".")])
    /// The parent folder, only for listings. Calls that must stay below a folder must not be given this name.
    public static let parent = Name(literal: [UInt8(ascii: "."), UInt8(ascii: ".")])

    public var isDotOrDotDot: Bool { self == Self.current || self == Self.parent }

    /// Lends the name as a C string, valid only during the call.
    public func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withTerminated(bytes, body)
    }
}

extension Name: ExpressibleByStringLiteral {
    /// Traps if the literal is not a valid name.
    public init(stringLiteral value: String) {
        // A literal may be `.` or `..`, because the source shows which folder it means.
        if let dots = [Self.current, .parent].first(where: { $0.bytes.elementsEqual(value.utf8) }) {
            self = dots
            return
        }
        guard let name = Name(bytes: value.utf8) else { preconditionFailure("not a file name: \(value)") }
        self = name
    }
}

extension Name: CustomStringConvertible {
    /// The name as text; bytes that are not UTF-8 show as U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
