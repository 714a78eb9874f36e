import Glibc

/// Runs one system call that returns -1 on failure; repeats it if a signal interrupted it.
///
/// Reads errno right after the call, before the closure's captures are released.
@inline(__always)
func call<Result: SignedInteger>(_ body: () -> Result) throws(Errno) -> Result {
    while true {
        let result = body()
        if result != -1 { return result }
        let error = Errno.current
        if error != .EINTR { throw error }
    }
}

/// As `call`, for calls that return only success or failure.
@inline(__always)
func perform(_ body: () -> Int32) throws(Errno) {
    _ = try call(body)
}

/// Lends bytes as a C string; throws EINVAL if they contain a NUL.
func withCString<Result>(
    _ bytes: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> Result
) throws(Errno) -> Result {
    guard !bytes.contains(0) else { throw .EINVAL }
    return try unsafe withTerminated(bytes, body)
}

/// Lends bytes with a NUL appended, for the duration of a call. The bytes contain no NUL.
func withTerminated<Result, Failure: Error>(
    _ bytes: [UInt8], _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
) throws(Failure) -> Result {
    try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) {
        buffer throws(Failure) -> Result in
        for index in bytes.indices {
            unsafe buffer.initializeElement(at: index, to: CChar(bitPattern: bytes[index]))
        }
        unsafe buffer.initializeElement(at: bytes.count, to: 0)
        return try unsafe body(buffer.baseAddress!)
    }
}
