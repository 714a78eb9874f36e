import TestSupport

/// The contents of all files are cells of 8 bytes, at multiples of 8: zero, or a number and what follows from it. So a
/// reader can tell whether the bytes were ever written, in whatever order the writes came.
enum Cells {
    static let size = 8

    static func make(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * size)
        for _ in 0..<count {
            var cell = cell(of: UInt32(truncatingIfNeeded: random.next()))
            for _ in 0..<size {
                bytes.append(UInt8(truncatingIfNeeded: cell))
                cell >>= 8
            }
        }
        return bytes
    }

    private static func cell(of number: UInt32) -> UInt64 {
        UInt64(number) << 32 | UInt64((number ^ 0x5bd1_e995) &* 0x9e37_79b1)
    }

    /// The offset of the first cell that was never written.
    static func flaw(in bytes: some RandomAccessCollection<UInt8>) -> Int? {
        guard bytes.count % size == 0 else { return bytes.count }
        var unread = bytes[...]
        while !unread.isEmpty {
            let value = unread.prefix(size).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            guard value == 0 || value == cell(of: UInt32(value >> 32)) else { return bytes.count - unread.count }
            unread = unread.dropFirst(size)
        }
        return nil
    }
}
