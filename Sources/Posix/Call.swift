import Glibc

/// Runs one system call that returns -1 on failure; repeats it if a signal interrupted it.
///
/// Reads errno right after the call, before the closure's captures are released.
@inline(__always)
func call<Result: SignedInteger>(_ body: () -> Result) throws(Errno) -> Result {
    var interruptions = 0
    while true {
        let result = body()
        if result != -1 { return result }
        let error = Errno.current
        guard error == .EINTR, interruptions < mostInterruptions else { throw error }
        interruptions += 1
    }
}

/// How often a call is repeated: a file system in user space may answer EINTR for ever.
let mostInterruptions = 1000

/// As `call`, for calls that return only success or failure.
@inline(__always)
func perform(_ body: () -> Int32) throws(Errno) {
    _ = try call(body)
}

/// As `perform`, for a call that makes, moves or removes a name: it must not take effect twice. A file system of a
/// network may have made the change before it answered EINTR; then the repeated call fails.
///
/// - Parameter isDone: whether an error of the repeated call only says that the interrupted one has made the change.
@inline(__always)
func performOnce(_ body: () -> Int32, isDone: (Errno) -> Bool) throws(Errno) {
    var interruptions = 0
    while body() == -1 {
        let error = Errno.current
        guard error == .EINTR, interruptions < mostInterruptions else {
            if interruptions > 0, isDone(error) { return }
            throw error
        }
        interruptions += 1
    }
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
