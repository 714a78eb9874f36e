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

    /// - Parameter message: less than 2 GiB.
    public mutating func hash(of message: RawSpan) throws(CryptoError) -> [UInt8] {
        let (nonce, nothing): (InlineArray<16, UInt8>, [UInt8]) = (InlineArray(repeating: 0), [])
        var hash = [UInt8](repeating: 0, count: Self.byteCount)
        var elements = hash.mutableSpan
        var output = unsafe elements.mutableBytes
        try unsafe cipher.seal(
            nothing.span.bytes, nonce: nonce.span.bytes, associatedData: message, into: &output)
        return hash
    }
}
