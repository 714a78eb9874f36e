import Glibc

extension Descriptor {
    /// The first `limit` bytes of the file, or all if it has fewer.
    public func bytes(atMost limit: Int = .max) throws(Errno) -> [UInt8] {
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        while contents.count < limit {
            let count = try read(into: &buffer, at: Int64(contents.count))
            if count == 0 { break }
            contents += buffer[..<min(count, limit - contents.count)]
        }
        return contents
    }

    /// One byte from a pipe; nil at its end.
    public func nextByte() throws(Errno) -> UInt8? {
        var buffer: [UInt8] = [0]
        var elements = buffer.mutableSpan
        var bytes = unsafe elements.mutableBytes
        return try read(into: &bytes) == 1 ? buffer[0] : nil
    }

    /// Fills `buffer` from `offset` on; returns fewer bytes only at the end of the file.
    public func read(into buffer: inout [UInt8], at offset: Int64) throws(Errno) -> Int {
        var elements = buffer.mutableSpan
        var bytes = unsafe elements.mutableBytes
        return try read(into: &bytes, at: offset)
    }
}
