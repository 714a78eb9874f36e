/// A hash of 16 bytes under a secret key, several times as fast as HMAC: the tag of AES-256-GCM over associated data
/// alone, always with a nonce of zeros (GMAC, NIST SP 800-38D).
///
/// Two messages of up to n blocks of 16 bytes have the same hash with a probability of at most (n + 2) / 2^128 for who
/// does not know the key. It is no MAC: the hashes of two messages betray the key. So a hash must be neither shown nor
/// stored; its HMAC may be, and is a MAC of the message (hash then PRF: Carter and Wegman, New hash functions, 1981).
///
/// An object serves one thread at a time.
public struct PolynomialHash: ~Copyable {
    public static let byteCount = BlockCipher.tagSize
    private var cipher: BlockCipher

    /// - Parameter key: 32 bytes, for nothing else.
    public init(key: borrowing Secret) throws(CryptoError) {
        var cipher = try BlockCipher()
        try cipher.setKey(key, for: .seal)
        self.cipher = cipher
    }

    /// - Parameters:
    ///   - message: less than 2 GiB.
    ///   - hash: 16 bytes of a `Secret`.
    public mutating func hash(_ message: RawSpan, into hash: inout MutableRawSpan) throws(CryptoError) {
        let nonce: InlineArray<16, UInt8> = InlineArray(repeating: 0)
        try unsafe cipher.seal(RawSpan(), nonce: nonce.span.bytes, associatedData: message, into: &hash)
    }

    public mutating func hash(_ message: RawSpan) throws(CryptoError) -> Secret {
        var hash = try Secret(count: Self.byteCount)
        try hash.withMutableBytes { (bytes) throws(CryptoError) in try self.hash(message, into: &bytes) }
        return hash
    }
}
