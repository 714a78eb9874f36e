internal import CCrypto

/// A fixed number of secret bytes in the locked heap, wiped at the end of its lifetime.
///
/// It cannot be copied by accident, printed, compared with `==` or turned into an array. Every initializer throws
/// `secureMemory` if the heap is full or cannot be locked.
@safe
public struct Secret: ~Copyable, @unchecked Sendable {  // owns its memory alone; mutation needs exclusive access
    private let base: UnsafeMutableRawPointer
    public let count: Int

    /// `count` zeros.
    public init(count: Int) throws(CryptoError) {
        unsafe base = try Self.allocate(count)
        self.count = count
    }

    /// `count` bytes from the kernel's generator.
    public init(random count: Int) throws(CryptoError) {
        try self.init(count: count)
        unsafe lk_random(base, count)
    }

    /// A copy; the caller must wipe the original.
    public init(copying bytes: RawSpan) throws(CryptoError) {
        try self.init(count: bytes.byteCount)
        unsafe base.copyMemory(from: bytes.start, byteCount: count)
    }

    /// `count` bytes, initially zero, that `fill` writes in place.
    public init(count: Int, fill: (inout MutableRawSpan) throws(CryptoError) -> Void) throws(CryptoError) {
        let base = try unsafe Self.allocate(count)
        var span = unsafe UnsafeMutableRawBufferPointer(start: base, count: count).mutableBytes
        do throws(CryptoError) {
            try fill(&span)
        } catch {
            unsafe lk_secure_release(base, count)
            throw error
        }
        unsafe self.base = base
        self.count = count
    }

    private static func allocate(_ count: Int) throws(CryptoError) -> UnsafeMutableRawPointer {
        precondition(count >= 0)
        _ = try Library.loaded()
        guard let base = unsafe lk_secure_allocate(count) else { throw .heapFull }
        return unsafe base
    }

    deinit { unsafe lk_secure_release(base, count) }

    /// Lends the bytes for the duration of `body`.
    public borrowing func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        try body(unsafe UnsafeRawBufferPointer(start: base, count: count).bytes)
    }

    /// Lends the bytes for modification.
    public mutating func withMutableBytes<R: ~Copyable, E: Error>(
        _ body: (inout MutableRawSpan) throws(E) -> R
    ) throws(E) -> R {
        var span = unsafe UnsafeMutableRawBufferPointer(start: base, count: count).mutableBytes
        return try body(&span)
    }

    public borrowing func copy() throws(CryptoError) -> Secret {
        try slice(0..<count)
    }

    /// A copy of some of the bytes; a range beyond the end traps.
    public borrowing func slice(_ range: Range<Int>) throws(CryptoError) -> Secret {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        let slice = try Secret(count: range.count)
        unsafe slice.base.copyMemory(from: base + range.lowerBound, byteCount: range.count)
        return slice
    }

    /// Overwrites all bytes with zeros now.
    public mutating func wipe() {
        unsafe OPENSSL_cleanse(base, count)
    }

    /// Whether both have the same bytes, in a time that depends only on their number.
    public borrowing func equals(_ other: borrowing Secret) -> Bool {
        unsafe count == other.count && CRYPTO_memcmp(base, other.base, count) == 0
    }

    /// For calls into C; valid as long as the secret exists.
    var start: UnsafePointer<UInt8> { unsafe UnsafePointer(base.assumingMemoryBound(to: UInt8.self)) }
    var mutableStart: UnsafeMutablePointer<UInt8> { unsafe base.assumingMemoryBound(to: UInt8.self) }
}

extension Secret {
    /// The bytes of both, one after the other.
    public init(joining first: borrowing Secret, _ second: borrowing Secret) throws(CryptoError) {
        try self.init(count: first.count + second.count)
        unsafe mutableStart.update(from: first.start, count: first.count)
        unsafe (mutableStart + first.count).update(from: second.start, count: second.count)
    }
}
