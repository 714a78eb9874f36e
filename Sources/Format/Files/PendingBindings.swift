/// The name bindings that a file's header may lack after a crash, stored beside the backing file.
///
/// 26 bytes and 16 for each binding, in the extended attribute of the `FileSummary`, whose place they take until the
/// header is durable. On a store that keeps the order of changes of metadata, they are on disk before the new name is.
/// Decoding checks the range of every field but not the MAC. Layout: docs/FORMAT.md, "Pending bindings".
public struct PendingBindings: Hashable, Sendable {
    static let version: UInt8 = 2
    static let bindingsOffset = 10
    static let tagByteCount = FileSummary.tagByteCount
    /// The largest value, in bytes.
    public static let mostBytes = bindingsOffset + 16 * FileHeader.mostBindings + tagByteCount

    /// They hold for headers up to this generation: later ones have the bindings themselves.
    public let generation: UInt64
    public let bindings: [NameBinding]

    /// - Parameter bindings: at least one, and no more than a header holds.
    public init(_ bindings: [NameBinding], upTo generation: UInt64) {
        precondition(1...FileHeader.mostBindings ~= bindings.count)
        self.bindings = bindings
        self.generation = generation
    }

    /// The caller checks the MAC over `signed(of:)`, which is in the last 16 bytes.
    public init(decoding bytes: RawSpan) throws(FormatError) {
        guard bytes.byteCount > Self.bindingsOffset else { throw .tooShort }
        let version = bytes.integer(at: 0, as: UInt8.self)
        guard version == Self.version else { throw .unknownVersion(UInt16(version)) }
        let count = Int(bytes.integer(at: 1, as: UInt8.self))
        guard 1...FileHeader.mostBindings ~= count,
            bytes.byteCount == Self.bindingsOffset + 16 * count + Self.tagByteCount
        else { throw .badField("number of bindings") }
        generation = bytes.integer(at: 2, as: UInt64.self)
        bindings = (0..<count).map { NameBinding(bytes, at: Self.bindingsOffset + 16 * $0) }
    }

    /// What the MAC covers: the value without its tag, and the file's ID, which is not stored.
    public func signed(of file: FileIdentifier) -> [UInt8] {
        var signed = [UInt8](repeating: 0, count: Self.bindingsOffset + 16 * bindings.count + 16)
        var elements = signed.mutableSpan
        var bytes = unsafe elements.mutableBytes
        bytes.store(Self.version, at: 0)
        bytes.store(UInt8(bindings.count), at: 1)
        bytes.store(generation, at: 2)
        for (index, binding) in bindings.enumerated() {
            binding.store(into: &bytes, at: Self.bindingsOffset + 16 * index)
        }
        file.store(into: &bytes, at: Self.bindingsOffset + 16 * bindings.count)
        return signed
    }

    /// Whether a file with this header has the name, though the header may lack its binding.
    public func hold(_ binding: NameBinding, for header: FileHeader) -> Bool {
        header.generation <= generation && bindings.contains(binding)
    }
}
