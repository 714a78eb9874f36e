import Posix

extension Descriptor {
    /// At most `count` bytes at an offset.
    func bytes(_ count: Int, at offset: Int64 = 0) throws(Posix.Errno) -> [UInt8] {
        var buffer = [UInt8](repeating: 0xee, count: count)
        var span = buffer.mutableSpan
        var bytes = unsafe span.mutableBytes
        let got = try read(into: &bytes, at: offset)
        return Array(buffer.prefix(got))
    }

    func put(_ bytes: [UInt8], at offset: Int64? = nil) throws(Posix.Errno) {
        if let offset {
            try unsafe write(bytes.span.bytes, at: offset)
        } else {
            try unsafe write(bytes.span.bytes)
        }
    }

    func transmit(_ bytes: [UInt8], passing descriptors: [Descriptor] = []) throws(Posix.Errno) {
        try unsafe send(bytes.span.bytes, passing: descriptors)
    }
}
