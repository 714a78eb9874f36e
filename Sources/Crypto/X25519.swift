internal import CCrypto

/// Diffie-Hellman on Curve25519 (RFC 7748): keys and shared secrets of 32 bytes.
public enum X25519 {
    /// A private key and its public key.
    public struct KeyPair: ~Copyable, Sendable {
        public let privateKey: Secret
        public let publicKey: [UInt8]

        /// The private key alone.
        public consuming func takePrivateKey() -> Secret { privateKey }
    }

    /// A fresh pair.
    public static func generate() throws(CryptoError) -> KeyPair {
        let privateKey = try Secret(random: 32)
        let publicKey = try publicKey(of: privateKey)
        return KeyPair(privateKey: privateKey, publicKey: publicKey)
    }

    public static func publicKey(of privateKey: borrowing Secret) throws(CryptoError) -> [UInt8] {
        try PrivateKey(privateKey).publicKey()
    }

    /// The shared secret: not a key itself, but the input of a key derivation.
    /// - Throws: `notAuthentic` if it would be all zeros, which a public key of small order causes (RFC 7748 section
    ///   6.1).
    public static func agree(
        _ privateKey: borrowing Secret, _ publicKey: RawSpan
    ) throws(CryptoError) -> Secret {
        try PrivateKey(privateKey).agree(publicKey)
    }
}

extension X25519 {
    /// A private key that is used more than once: loading one costs as much as an agreement, because OpenSSL computes
    /// the public key. Thread-safe; wiped with its last reference.
    @safe
    public final class PrivateKey: @unchecked Sendable {  // unchecked: the key behind the pointer never changes
        private let key: OpaquePointer

        /// - Parameter secret: 32 bytes, copied into OpenSSL's part of the arena.
        public init(_ secret: borrowing Secret) throws(CryptoError) {
            try require(secret.count == 32, "an X25519 private key has 32 bytes")
            _ = try Library.loaded()
            guard let key = unsafe EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, secret.start, 32) else {
                throw .fromOpenSSL("X25519 private key")
            }
            unsafe self.key = key
        }

        deinit { unsafe EVP_PKEY_free(key) }

        public func publicKey() throws(CryptoError) -> [UInt8] {
            var publicKey = [UInt8](repeating: 0, count: 32)
            var count = publicKey.count
            try check(unsafe EVP_PKEY_get_raw_public_key(key, &publicKey, &count), "X25519 public key")
            try require(count == 32, "an X25519 public key has 32 bytes")
            return publicKey
        }

        /// The shared secret, as in `X25519.agree`.
        public func agree(_ publicKey: RawSpan) throws(CryptoError) -> Secret {
            try require(publicKey.byteCount == 32, "an X25519 public key has 32 bytes")
            guard let peer = unsafe EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, publicKey.start, 32) else {
                throw .fromOpenSSL("X25519 public key")
            }
            defer { unsafe EVP_PKEY_free(peer) }
            guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { throw .fromOpenSSL("X25519") }
            defer { unsafe EVP_PKEY_CTX_free(context) }
            try check(unsafe EVP_PKEY_derive_init(context), "X25519")
            try check(unsafe EVP_PKEY_derive_set_peer(context, peer), "X25519")

            let shared = try Secret(count: 32)
            var count = shared.count
            let result = unsafe EVP_PKEY_derive(context, shared.mutableStart, &count)
            ERR_clear_error()
            let zeros = try Secret(count: 32)
            guard result == 1, count == 32, !shared.equals(zeros) else { throw .notAuthentic }
            return shared
        }
    }
}
