internal import CCrypto

/// HKDF with SHA-256 (RFC 5869): keys from keys.
public enum KeyDerivation {
    /// - Parameters:
    ///   - salt: not secret; may be empty.
    ///   - info: the purpose of the result.
    ///   - count: bytes of the result, 1 to 8160.
    public static func hkdf(
        _ key: borrowing Secret, salt: RawSpan, info: RawSpan, count: Int
    ) throws(CryptoError) -> Secret {
        try require((1...255 * 32).contains(count), "HKDF yields 1 to 8160 bytes")
        let derived = try Secret(count: count)
        unsafe lk_hkdf_sha256(
            key.start, key.count, salt.start, salt.byteCount, info.start, info.byteCount, derived.mutableStart, count)
        return derived
    }

    /// As above, with a salt that is itself a key.
    public static func hkdf(
        _ key: borrowing Secret, salt: borrowing Secret, info: RawSpan, count: Int
    ) throws(CryptoError) -> Secret {
        try require((1...255 * 32).contains(count), "HKDF yields 1 to 8160 bytes")
        let derived = try Secret(count: count)
        unsafe lk_hkdf_sha256(
            key.start, key.count, salt.start, salt.count, info.start, info.byteCount, derived.mutableStart, count)
        return derived
    }
}
