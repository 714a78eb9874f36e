// A pipe as a bell between threads.

extension Descriptor {
    /// Waits for a byte; false at the end.
    package func readByte() -> Bool {
        var byte: [UInt8] = [0]
        var span = byte.mutableSpan
        var bytes = unsafe span.mutableBytes
        return (try? read(into: &bytes)) == 1
    }

    package func writeByte() throws(Errno) {
        let byte: [UInt8] = [1]
        try unsafe write(byte.span.bytes)
    }
}
