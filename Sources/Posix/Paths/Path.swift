/// The path of a file, or what a user has typed for one: bytes, which need not be UTF-8.
///
/// Linux compares and stores paths as bytes, and so does this type: a composed and a decomposed letter are different
/// paths. It converts neither to a C string nor to text by itself. Calls take it through `withCString`, people see it
/// through `Printable`, and JSON has the escaped form with the bytes beside it.
public struct Path: Hashable, Sendable {
    public let bytes: [UInt8]

    public init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    public init(_ text: some StringProtocol) { bytes = Array(text.utf8) }

    /// Nil for bytes that are not UTF-8.
    public var text: String? { String(validating: bytes, as: UTF8.self) }

    public var isEmpty: Bool { bytes.isEmpty }

    /// Lends the path as a C string, valid only during the call. A path with a NUL names no file: it is lent as an
    /// empty string, for which system calls fail with ENOENT.
    public func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withTerminated(bytes.contains(0) ? [] : bytes, body)
    }
}

extension Path: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(value) }

    public init(stringInterpolation: StringInterpolation) { self.init(bytes: stringInterpolation.bytes) }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var bytes: [UInt8] = []

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { bytes += literal.utf8 }

        public mutating func appendInterpolation(_ path: Path) { bytes += path.bytes }

        public mutating func appendInterpolation(_ name: Name) { bytes += name.bytes }

        public mutating func appendInterpolation<Value: CustomStringConvertible>(_ value: Value) {
            bytes += value.description.utf8
        }

        @available(*, unavailable, message: "escaped text names no file")
        public mutating func appendInterpolation(_ printable: Printable) {}
    }
}

extension Path: Comparable {
    public static func < (first: Path, second: Path) -> Bool { first.bytes.lexicographicallyPrecedes(second.bytes) }

    public static func + (path: Path, text: String) -> Path { Path(bytes: path.bytes + Array(text.utf8)) }

    public static func + (path: Path, more: Path) -> Path { Path(bytes: path.bytes + more.bytes) }
}

extension Path: Codable {
    /// A string, or the bytes as numbers if they are not UTF-8.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self.init(text)
        } else {
            self.init(bytes: try value.decode([UInt8].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        if let text { try value.encode(text) } else { try value.encode(bytes) }
    }
}

// Display

extension Path {
    /// Escaped, for people.
    public var printable: Printable { Printable(bytes: bytes) }

    /// Quoted as one word for a shell.
    public var quoted: Printable { bytes.quoted }
}

extension Printable.StringInterpolation {
    public mutating func appendInterpolation(_ path: Path) { appendInterpolation(path.bytes) }
}

extension DefaultStringInterpolation {
    @available(*, unavailable, message: "a path is bytes: interpolate it into a Printable or a Path")
    public mutating func appendInterpolation(_ path: Path) {}
}
