import Glibc

// Tests run without optimisation, so megabytes are handled by memcpy and memcmp.

extension [UInt8] {
    mutating func overwrite(at offset: Int, with bytes: ArraySlice<UInt8>) {
        precondition(offset + bytes.count <= count)
        unsafe withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { source in
                guard let start = source.baseAddress else { return }
                unsafe (target.baseAddress! + offset).copyMemory(from: start, byteCount: source.count)
            }
        }
    }

    mutating func overwrite(at offset: Int, with bytes: [UInt8]) {
        overwrite(at: offset, with: bytes[...])
    }

    /// Zeros from an offset to the end.
    mutating func clear(from offset: Int) {
        guard offset < count else { return }
        unsafe withUnsafeMutableBytes { bytes in
            _ = unsafe memset(bytes.baseAddress! + offset, 0, bytes.count - offset)
        }
    }

    /// The first `kept` bytes, and zeros up to `count` bytes.
    func first(_ kept: Int, of count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.overwrite(at: 0, with: self[..<kept])
        return bytes
    }

    /// `count` bytes from an offset on, with zeros behind the end.
    func slice(from offset: Int, count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        if offset < self.count { bytes.overwrite(at: 0, with: self[offset..<Swift.min(offset + count, self.count)]) }
        return bytes
    }

    /// Whether all bytes of a range equal those of another array, which counts as zeros behind its end.
    func matches(_ other: [UInt8], in range: Range<Int>) -> Bool {
        let shared = Swift.max(range.lowerBound, Swift.min(range.upperBound, other.count))
        return isEqual(to: other, in: range.lowerBound..<shared) && isZero(in: shared..<range.upperBound)
    }

    private func isEqual(to other: [UInt8], in range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return true }
        return unsafe withUnsafeBytes { mine in
            unsafe other.withUnsafeBytes { theirs in
                unsafe memcmp(
                    mine.baseAddress! + range.lowerBound, theirs.baseAddress! + range.lowerBound, range.count) == 0
            }
        }
    }

    func isZero(in range: Range<Int>) -> Bool {
        var start = range.lowerBound
        while start < range.upperBound {
            let count = Swift.min(Self.zeros.count, range.upperBound - start)
            let isZero = unsafe withUnsafeBytes { mine in
                unsafe Self.zeros.withUnsafeBytes { zeros in
                    unsafe memcmp(mine.baseAddress! + start, zeros.baseAddress!, count) == 0
                }
            }
            guard isZero else { return false }
            start += count
        }
        return true
    }

    private static let zeros = [UInt8](repeating: 0, count: 4096)
}
