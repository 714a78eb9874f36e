/// A valid address for an empty input: to OpenSSL, a null input means "finish", not "no bytes".
private nonisolated(unsafe) let nowhere = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

// Pointers for C. They are valid as long as the span itself, which outlives every call that gets them.

extension RawSpan {
    var start: UnsafePointer<UInt8> {
        guard let base = unsafe withUnsafeBytes({ $0.baseAddress }) else { return unsafe UnsafePointer(nowhere) }
        return unsafe base.assumingMemoryBound(to: UInt8.self)
    }
}

extension MutableRawSpan {
    var start: UnsafeMutablePointer<UInt8> {
        mutating get {
            guard let base = unsafe withUnsafeMutableBytes({ $0.baseAddress }) else { return unsafe nowhere }
            return unsafe base.assumingMemoryBound(to: UInt8.self)
        }
    }
}
