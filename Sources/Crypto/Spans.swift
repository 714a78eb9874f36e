/// Somewhere to point to for no bytes at all: OpenSSL takes a null input for "finish", not for "nothing".
private nonisolated(unsafe) let nowhere = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

// C wants pointers. These are good for as long as the span itself, which outlives every call that they are passed to.

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
