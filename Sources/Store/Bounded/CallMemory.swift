import Posix

/// Memory of a call to a store: the call has it as long as it runs, also after its caller has given it up.
///
/// Used by one thread at a time.
@safe
final class CallMemory: @unchecked Sendable {  // unchecked: the caller looks at it once the call has ended
    private let bytes: UnsafeMutableRawBufferPointer

    private static let page = 4096

    init(byteCount: Int) {
        // Whole pages: those of 128 KiB that begin within one need two requests of a store behind FUSE.
        let alignment = byteCount < Self.page ? MemoryLayout<Int>.alignment : Self.page
        unsafe bytes = .allocate(byteCount: byteCount, alignment: alignment)
    }

    /// A copy of these bytes.
    convenience init(_ source: RawSpan) {
        self.init(byteCount: source.byteCount)
        unsafe source.withUnsafeBytes { unsafe bytes.copyMemory(from: $0) }
    }

    deinit { unsafe bytes.deallocate() }

    /// Lends all of it, to be filled.
    func fill<Result>(_ body: (inout MutableRawSpan) throws(Errno) -> Result) throws(Errno) -> Result {
        // Nothing is read before it is written: the caller takes as many bytes as `body` says.
        var span = unsafe MutableRawSpan(_unsafeBytes: bytes)
        return try body(&span)
    }

    /// Lends all of it.
    func withBytes(_ body: (RawSpan) throws(Errno) -> Void) throws(Errno) {
        try body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(bytes)))
    }

    /// Puts the first bytes into `target`, from `start` on.
    func copy(_ count: Int, to target: inout MutableRawSpan, from start: Int) {
        unsafe target.withUnsafeMutableBytes { target in
            unsafe UnsafeMutableRawBufferPointer(rebasing: target[start..<start + count])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
    }
}
