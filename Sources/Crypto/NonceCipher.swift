internal import CCrypto

/// AES-256 on single blocks of 16 bytes: a permutation that hides what a nonce is made of, and keeps different nonces
/// different.
///
/// A context serves one thread at a time. After `init` it allocates nothing.
@safe
public struct NonceCipher: ~Copyable, @unchecked Sendable {  // a context may move between threads
    public static let nonceSize = 16

    private let context: OpaquePointer
    private var direction: Direction?

    public init() throws(CryptoError) {
        let library = try Library.loaded()
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .heapFull }
        guard unsafe EVP_CipherInit_ex2(context, library.ecb, nil, nil, 1, nil) == 1,
            unsafe EVP_CIPHER_CTX_set_padding(context, 0) == 1
        else {
            unsafe EVP_CIPHER_CTX_free(context)
            throw .fromOpenSSL("AES-256-ECB")
        }
        unsafe self.context = context
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Expands a key of 32 bytes, which replaces the previous one.
    public mutating func setKey(_ key: borrowing Secret, for direction: Direction) throws(CryptoError) {
        try require(key.count == 32, "a key of AES-256 has 32 bytes")
        self.direction = nil
        try check(
            unsafe EVP_CipherInit_ex2(context, nil, key.start, nil, direction == .seal ? 1 : 0, nil), "AES-256 key")
        self.direction = direction
    }

    /// Encrypts or decrypts nonces in place, one behind the other.
    public mutating func apply(to nonces: inout MutableRawSpan) throws(CryptoError) {
        try require(direction != nil, "the cipher was not keyed")
        let count = nonces.byteCount
        guard count % Self.nonceSize == 0, let size = Int32(exactly: count) else {
            throw .invalidInput("a nonce has 16 bytes")
        }
        guard count > 0 else { return }
        let bytes = unsafe nonces.start
        var done: Int32 = 0
        try check(unsafe EVP_CipherUpdate(context, bytes, &done, bytes, size), "AES-256-ECB")
        SecureHeap.stopAfterWipe()
    }

    /// Wipes the expanded key. The next call must be `setKey`.
    public mutating func clear() {
        guard direction != nil else { return }
        direction = nil
        let zeros: InlineArray<32, UInt8> = InlineArray(repeating: 0)
        let result = unsafe zeros.span.bytes.withUnsafeBytes { zeros in
            unsafe EVP_CipherInit_ex2(
                context, nil, zeros.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, 1, nil)
        }
        precondition(result == 1, "OpenSSL refused to overwrite a key")
    }
}
