/// A 128-bit value that identifies one object of a vault; `Kind` keeps the kinds apart at compile time.
public struct Identifier<Kind>: Hashable, Sendable {
    public static var byteCount: Int { 16 }

    private let first: UInt64
    private let second: UInt64

    /// Sixteen zero bytes: the root's name binding, or no file.
    public static var zero: Self { Self(first: 0, second: 0) }

    private init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Decodes 16 bytes at `offset`; traps if there are fewer.
    public init(_ bytes: RawSpan, at offset: Int = 0) {
        first = bytes.integer(at: offset, as: UInt64.self)
        second = bytes.integer(at: offset + 8, as: UInt64.self)
    }

    /// Decodes the first 16 bytes; traps if there are fewer.
    public init(_ bytes: [UInt8]) {
        unsafe self.init(bytes.span.bytes)
    }

    public var bytes: [UInt8] {
        var copy = [UInt8](repeating: 0, count: 16)
        var elements = copy.mutableSpan
        var span = unsafe elements.mutableBytes
        store(into: &span, at: 0)
        return copy
    }

    /// Writes 16 bytes at `offset`; traps if they do not fit.
    public func store(into bytes: inout MutableRawSpan, at offset: Int) {
        bytes.store(first, at: offset)
        bytes.store(second, at: offset + 8)
    }

    /// The first 8 bytes as a number.
    public var firstHalf: UInt64 { first }
    /// The last 8 bytes as a number.
    public var secondHalf: UInt64 { second }

    /// Lends the 16 bytes to `body` without an allocation.
    public func withBytes<Result, Failure>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var bytes: InlineArray<16, UInt8> = .init(repeating: 0)
        var span = bytes.mutableSpan
        var raw = unsafe span.mutableBytes
        store(into: &raw, at: 0)
        return try unsafe body(bytes.span.bytes)
    }
}

extension Identifier: CustomStringConvertible {
    /// 32 hexadecimal digits.
    public var description: String { String(hexadecimal: bytes) }
}

/// The kinds of objects that identifiers identify.
public enum IdentifierKind {
    public enum Volume {}
    public enum File {}
    public enum Directory {}
    public enum NameBinding {}
}

/// Identifies a vault; part of its keybag and of every header.
public typealias VolumeIdentifier = Identifier<IdentifierKind.Volume>
/// Identifies a regular file under all of its names.
public typealias FileIdentifier = Identifier<IdentifierKind.File>
/// Identifies a directory; names in it are encrypted under this ID.
public typealias DirectoryIdentifier = Identifier<IdentifierKind.Directory>
/// Binds an entry to its directory and name: a PRF of both.
public typealias NameBinding = Identifier<IdentifierKind.NameBinding>
