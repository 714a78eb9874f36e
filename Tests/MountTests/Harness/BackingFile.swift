import TestSupport

/// A backing file as docs/FORMAT.md describes it, and the changes that an attacker can make to it.
struct BackingFile {
    static let headerSize = 512
    static let blockSize = 4128

    let path: String

    init(_ path: String) {
        self.path = path
    }

    struct Header {
        let bytes: [UInt8]

        var fileIdentifier: [UInt8] { Array(bytes[40..<56]) }
        var classCode: UInt8 { bytes[56] }
        var isExplicit: Bool { bytes[57] & 1 != 0 }
        var algorithm: UInt8 { bytes[58] }
        var wrap: [UInt8] { Array(bytes[360..<360 + Int(bytes[60]) + Int(bytes[61]) << 8]) }
        var length: UInt64 { bytes[72..<80].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    }

    var header: Header {
        get throws {
            let bytes = try Disk.read(path)
            guard bytes.count >= BackingFile.headerSize, bytes.starts(with: Array("LKFILE\r\n".utf8)) else {
                throw HarnessError("\(path): no backing file of version 1")
            }
            return Header(bytes: Array(bytes[..<BackingFile.headerSize]))
        }
    }

    /// Where block k lies; the last block of a file is shorter.
    static func range(ofBlock k: Int, in count: Int) -> Range<Int> {
        let start = headerSize + blockSize * k
        return start..<min(start + blockSize, count)
    }

    func edit(_ change: (inout [UInt8]) throws -> Void) throws {
        try Disk.edit(path, change)
    }

    func swapBlocks(_ a: Int, _ b: Int) throws {
        try edit { bytes in
            let first = BackingFile.range(ofBlock: a, in: bytes.count)
            let second = BackingFile.range(ofBlock: b, in: bytes.count)
            let kept = Array(bytes[first])
            bytes.replaceSubrange(first, with: Array(bytes[second]))
            bytes.replaceSubrange(second, with: kept)
        }
    }

    /// Copies block k of another file over this one's.
    func takeBlock(_ k: Int, from other: BackingFile) throws {
        let source = try Disk.read(other.path)
        try edit { bytes in
            bytes.replaceSubrange(
                BackingFile.range(ofBlock: k, in: bytes.count),
                with: source[BackingFile.range(ofBlock: k, in: source.count)])
        }
    }

    func zeroBlock(_ k: Int) throws {
        try edit { bytes in
            let range = BackingFile.range(ofBlock: k, in: bytes.count)
            bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count))
        }
    }

    func truncate(to size: Int) throws {
        try edit { $0 = Array($0[..<size]) }
    }
}
