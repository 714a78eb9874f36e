internal import CCrypto

/// AES-256 key wrap with the default initial value (RFC 3394): 8 bytes longer than the key, and detects a wrong key or
/// a modification.
public enum KeyWrap {
    public static let overhead = 8

    /// - Parameters:
    ///   - key: a multiple of 8 bytes, at least 16.
    ///   - wrappingKey: 32 bytes.
    public static func wrap(
        _ key: borrowing Secret, under wrappingKey: borrowing Secret
    ) throws(CryptoError) -> [UInt8] {
        try require(key.count >= 16 && key.count % 8 == 0, "a key to wrap has a multiple of 8 bytes, at least 16")
        var wrapped = [UInt8](repeating: 0, count: key.count + overhead)
        let done = try unsafe wrapped.withUnsafeMutableBufferPointer { wrapped throws(CryptoError) in
            try unsafe run(wrappingKey, .seal, key.start, key.count, into: wrapped.baseAddress!)
        }
        try require(done == wrapped.count, "AES key wrap of another length")
        return wrapped
    }

    /// - Throws: `notAuthentic` if `wrapped` is not the result of `wrap` under this key.
    public static func unwrap(
        _ wrapped: RawSpan, under wrappingKey: borrowing Secret
    ) throws(CryptoError) -> Secret {
        let count = wrapped.byteCount - overhead
        guard count >= 16 && count % 8 == 0 else { throw .notAuthentic }
        // OpenSSL writes each block before it checks the initial value; the memory of a `Secret` is wiped if that
        // fails.
        let key = try Secret(count: count)
        let done = try unsafe run(wrappingKey, .open, wrapped.start, wrapped.byteCount, into: key.mutableStart)
        guard done == count else { throw .notAuthentic }
        return key
    }

    /// Returns the number of bytes written.
    private static func run(
        _ wrappingKey: borrowing Secret, _ direction: Direction, _ input: UnsafePointer<UInt8>, _ count: Int,
        into output: UnsafeMutablePointer<UInt8>
    ) throws(CryptoError) -> Int {
        try require(wrappingKey.count == 32, "a key of AES-256 key wrap has 32 bytes")
        let library = try Library.loaded()
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .heapFull }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        unsafe EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW)
        try check(
            unsafe EVP_CipherInit_ex2(context, library.wrap, wrappingKey.start, nil, direction == .seal ? 1 : 0, nil),
            "AES-256 key wrap")
        var done: Int32 = 0
        let result = unsafe EVP_CipherUpdate(context, output, &done, input, Int32(count))
        SecureHeap.stopAfterWipe()
        guard result == 1 else {
            guard direction == .open else { throw .fromOpenSSL("AES-256 key wrap") }
            ERR_clear_error()
            throw .notAuthentic
        }
        return Int(done)
    }
}
