internal import CCrypto

/// The direction of a cipher.
public enum Direction: Sendable {
    case seal
    case open
}

/// AES-256-GCM (NIST SP 800-38D) with nonces of 16 bytes, and tags of 16 bytes at the end of the ciphertext.
///
/// A context serves one thread at a time: it gets the key for a request, then a nonce for each block. After `init` it
/// allocates nothing.
@safe
public struct BlockCipher: ~Copyable, @unchecked Sendable {  // a context may move between threads
    public static let nonceSize = 16
    public static let tagSize = 16

    private let context: OpaquePointer
    private var direction: Direction?

    public init() throws(CryptoError) {
        let library = try Library.loaded()
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw .heapFull }
        // Not as a parameter: an OSSL_PARAM keeps a pointer to its name, and a Swift string lends a pointer only for
        // one call.
        guard unsafe EVP_CipherInit_ex2(context, library.gcm, nil, nil, 1, nil) == 1,
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(Self.nonceSize), nil) == 1
        else {
            unsafe EVP_CIPHER_CTX_free(context)
            throw .fromOpenSSL("AES-256-GCM")
        }
        unsafe self.context = context
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Expands a key of 32 bytes, which replaces the previous one.
    public mutating func setKey(_ key: borrowing Secret, for direction: Direction) throws(CryptoError) {
        try require(key.count == 32, "a key of AES-256-GCM has 32 bytes")
        self.direction = nil
        // Nil, because passing the cipher again would free and allocate the context's state.
        try check(
            unsafe EVP_CipherInit_ex2(context, nil, key.start, nil, direction == .seal ? 1 : 0, nil), "AES-256-GCM key")
        self.direction = direction
    }

    /// Encrypts.
    /// - Parameters:
    ///   - nonce: 16 bytes, random, never used before with this key.
    ///   - output: 16 bytes longer than `plain`: ciphertext, then tag. May not overlap it.
    public mutating func seal(
        _ plain: RawSpan, nonce: RawSpan, associatedData: RawSpan, into output: inout MutableRawSpan
    ) throws(CryptoError) {
        try require(output.byteCount == plain.byteCount + Self.tagSize, "the output of GCM is 16 bytes longer")
        try begin(.seal, nonce: nonce, associatedData: associatedData)
        let out = unsafe output.start
        try unsafe update(plain.start, plain.byteCount, into: out)
        var none: Int32 = 0
        try check(unsafe EVP_CipherFinal_ex(context, out, &none), "AES-256-GCM")
        try check(
            unsafe EVP_CIPHER_CTX_ctrl(
                context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagSize), out + plain.byteCount), "AES-256-GCM tag")
        SecureHeap.stopAfterWipe()
    }

    /// Decrypts and verifies.
    /// - Parameter output: 16 bytes shorter than `sealed`. All zeros if this throws.
    /// - Throws: `notAuthentic` if any byte of key, nonce, associated data or ciphertext differs from what was sealed.
    public mutating func open(
        _ sealed: RawSpan, nonce: RawSpan, associatedData: RawSpan, into output: inout MutableRawSpan
    ) throws(CryptoError) {
        let count = sealed.byteCount - Self.tagSize
        try require(count >= 0 && output.byteCount == count, "the output of GCM is 16 bytes shorter")
        let out = unsafe output.start
        do throws(CryptoError) {
            try begin(.open, nonce: nonce, associatedData: associatedData)
            let input = unsafe sealed.start
            try unsafe update(input, count, into: out)
            // OpenSSL takes the expected tag through a mutable pointer, but does not write to it.
            let tag = unsafe UnsafeMutablePointer(mutating: input + count)
            try check(
                unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagSize), tag), "AES-256-GCM tag")
            var none: Int32 = 0
            guard unsafe EVP_CipherFinal_ex(context, out, &none) == 1 else {
                SecureHeap.stopAfterWipe()
                ERR_clear_error()
                throw .notAuthentic
            }
        } catch {
            // GCM outputs plaintext before it has checked the tag.
            unsafe OPENSSL_cleanse(out, count)
            throw error
        }
    }

    /// Wipes the expanded key, and the plaintext that the cipher has left in registers and on the stack. The next call
    /// must be `setKey`.
    public mutating func clear() {
        // A context keeps its key until another one replaces it: zeros do that.
        direction = nil
        let zeros: InlineArray<32, UInt8> = InlineArray(repeating: 0)
        let result = unsafe zeros.span.bytes.withUnsafeBytes { zeros in
            unsafe EVP_CipherInit_ex2(
                context, nil, zeros.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, 1, nil)
        }
        precondition(result == 1, "OpenSSL refused to overwrite a key")
        lk_wipe_stack()
    }

    private mutating func begin(
        _ wanted: Direction, nonce: RawSpan, associatedData: RawSpan
    ) throws(CryptoError) {
        try require(nonce.byteCount == Self.nonceSize, "a nonce has 16 bytes")
        try require(direction == wanted, "the cipher was not keyed for this direction")
        try check(
            unsafe EVP_CipherInit_ex2(context, nil, nil, nonce.start, wanted == .seal ? 1 : 0, nil), "AES-256-GCM nonce"
        )
        try unsafe update(associatedData.start, associatedData.byteCount, into: nil)
    }

    /// Without an output, the input is associated data.
    private mutating func update(
        _ input: UnsafePointer<UInt8>, _ count: Int, into output: UnsafeMutablePointer<UInt8>?
    ) throws(CryptoError) {
        guard count > 0 else { return }
        guard let size = Int32(exactly: count) else { throw .invalidInput("GCM in pieces of up to 2 GiB") }
        var done: Int32 = 0
        try check(unsafe EVP_CipherUpdate(context, output, &done, input, size), "AES-256-GCM")
    }
}
