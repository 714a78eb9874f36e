import Posix
import Vault

/// Whether two files, of one tree each, have the same contents.
struct Comparison<First: Tree, Second: Tree> {
    private let first: First
    private let second: Second
    private static var bufferSize: Int { 1 << 20 }

    init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    func areEqual(_ one: First.Opened, _ other: Second.Opened) throws(VaultError) -> Bool {
        let size = try first.status(of: one).size
        guard try second.status(of: other).size == size else { return false }
        var (a, b) = ([UInt8](repeating: 0, count: Self.bufferSize), [UInt8](repeating: 0, count: Self.bufferSize))
        var offset: Int64 = 0
        while offset < size {
            let (read, readOther) = (
                try Self.read(&a) { (span) throws(VaultError) in try first.read(one, into: &span, at: offset) },
                try Self.read(&b) { (span) throws(VaultError) in try second.read(other, into: &span, at: offset) }
            )
            guard read > 0, read == readOther, a.prefix(read) == b.prefix(read) else { return false }
            offset += Int64(read)
        }
        return true
    }

    private static func read(
        _ bytes: inout [UInt8], _ body: (inout MutableRawSpan) throws(VaultError) -> Int
    ) throws(VaultError) -> Int {
        var elements = bytes.mutableSpan
        var span = unsafe elements.mutableBytes
        return try body(&span)
    }
}
