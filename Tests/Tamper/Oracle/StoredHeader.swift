/// A header's fields, as docs/FORMAT.md has them. The parser is separate, so that the vault's mistakes are not
/// repeated.
struct StoredHeader {
    static let size = 512
    static let storedBlock = 4128
    static let block = 4096
    static let overhead = 32

    let file: [UInt8]
    private let protection: SeenClass
    /// The class under the last binding, while a rename is under way.
    private let pending: SeenClass?
    let bindings: [[UInt8]]
    let hasManyLinks: Bool
    let length: Int
    let firstSparse: UInt64
    let provisionalLength: Int

    init(_ bytes: [UInt8]) {
        func integer(_ offset: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * $1) } }
        file = Array(bytes[40..<56])
        protection = SeenClass(bytes[56], isExplicit: bytes[57] & 1 != 0)
        pending = bytes[57] & 4 != 0 ? SeenClass(bytes[62], isExplicit: bytes[63] & 1 != 0) : nil
        hasManyLinks = bytes[57] & 2 != 0
        bindings = (0..<Int(bytes[59])).map { Array(bytes[104 + 16 * $0..<120 + 16 * $0]) }
        length = Int(integer(72))
        firstSparse = integer(80)
        provisionalLength = Int(integer(88))
    }

    func protection(at binding: [UInt8]) -> SeenClass { bindings.last == binding ? pending ?? protection : protection }

    var blockCount: Int { (provisionalLength + Self.block - 1) / Self.block }

    /// The number of confirmed bytes that block k holds.
    func confirmed(_ k: Int) -> Int { max(0, min(Self.block, length - Self.block * k)) }

    /// The number of the file's bytes that block k holds.
    func live(_ k: Int) -> Int { max(0, min(Self.block, provisionalLength - Self.block * k)) }

    /// Where block k may lie in a backing file of this many bytes.
    static func room(_ k: Int, in count: Int) -> Range<Int> {
        let start = min(size + storedBlock * k, count)
        return start..<min(start + storedBlock, count)
    }
}
