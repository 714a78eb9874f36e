internal import CCrypto

/// SHA-256 (FIPS 180-4): 32 bytes.
public func sha256(_ bytes: RawSpan) -> [UInt8] {
    unsafe digest { tag in unsafe lk_sha256(bytes.start, bytes.byteCount, tag) }
}

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
public struct SHA256: ~Copyable {
    private var state = lk_sha256_state()

    public init() { unsafe lk_sha256_begin(&state) }

    public mutating func add(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe lk_sha256_add(&state, $0.baseAddress, $0.count) }
    }

    /// The digest of all pieces, 32 bytes.
    public consuming func end() -> [UInt8] {
        var state = state
        return unsafe digest { tag in unsafe lk_sha256_end(&state, tag) }
    }
}

/// HMAC-SHA-256 (RFC 2104) under one key; tags of 32 bytes. Thread-safe.
public final class MessageAuthenticator: Sendable {
    /// The `lk_hmac`: SHA-256 states after the padded keys. Immutable after `init`.
    private let state: Secret

    public init(key: consuming Secret) throws(CryptoError) {
        let state = try Secret(count: MemoryLayout<lk_hmac>.size)
        unsafe state.hmac.initialize(to: lk_hmac())
        unsafe lk_hmac_set_key(state.hmac, key.start, key.count)
        extendLifetime(key)  // keeps it alive until the call has returned
        self.state = state
    }

    public func tag(of message: RawSpan) -> [UInt8] {
        defer { SecureHeap.stopAfterWipe() }
        return unsafe digest { tag in
            unsafe lk_hmac_tag(state.hmac, message.start, message.byteCount, nil, 0, nil, 0, tag)
        }
    }

    /// The tag of `a` followed by `b`.
    public func tag(of a: RawSpan, _ b: RawSpan) -> [UInt8] {
        defer { SecureHeap.stopAfterWipe() }
        return unsafe digest { tag in
            unsafe lk_hmac_tag(state.hmac, a.start, a.byteCount, b.start, b.byteCount, nil, 0, tag)
        }
    }

    /// The tag of `a`, `b` and `c`, one behind the other.
    public func tag(of a: RawSpan, _ b: RawSpan, _ c: RawSpan) -> [UInt8] {
        defer { SecureHeap.stopAfterWipe() }
        return unsafe digest { tag in
            unsafe lk_hmac_tag(
                state.hmac, a.start, a.byteCount, b.start, b.byteCount, c.start, c.byteCount, tag)
        }
    }

    /// The tag of `a` followed by `b` as a secret, for use as a key or as a keyed salt.
    public func secretTag(of a: RawSpan, _ b: RawSpan) throws(CryptoError) -> Secret {
        let tag = try Secret(count: 32)
        unsafe lk_hmac_tag(state.hmac, a.start, a.byteCount, b.start, b.byteCount, nil, 0, tag.mutableStart)
        SecureHeap.stopAfterWipe()
        return tag
    }

    /// Whether `tag` is the complete tag of `message`, in constant time.
    public func verify(_ tag: RawSpan, of message: RawSpan) -> Bool {
        guard tag.byteCount == 32 else { return false }
        let expected = self.tag(of: message)
        return unsafe CRYPTO_memcmp(expected, tag.start, 32) == 0
    }

    /// Whether `tag` is a prefix of the tag of `message`, at least half of it (RFC 2104, section 5), in constant time.
    public func verify(truncated tag: RawSpan, of message: RawSpan) -> Bool {
        guard 16...32 ~= tag.byteCount else { return false }
        let expected = self.tag(of: message)
        return unsafe CRYPTO_memcmp(expected, tag.start, tag.byteCount) == 0
    }

    /// Whether `tag` is the complete tag of `a`, `b` and `c`, one behind the other, in constant time.
    public func verify(_ tag: RawSpan, of a: RawSpan, _ b: RawSpan, _ c: RawSpan) -> Bool {
        guard tag.byteCount == 32 else { return false }
        let expected = self.tag(of: a, b, c)
        return unsafe CRYPTO_memcmp(expected, tag.start, 32) == 0
    }

    /// Whether `tag` is the complete tag of `a` followed by `b`, in constant time.
    public func verify(_ tag: RawSpan, of a: RawSpan, _ b: RawSpan) -> Bool {
        guard tag.byteCount == 32 else { return false }
        let expected = self.tag(of: a, b)
        return unsafe CRYPTO_memcmp(expected, tag.start, 32) == 0
    }
}

extension Secret {
    fileprivate var hmac: UnsafeMutablePointer<lk_hmac> {
        unsafe UnsafeMutableRawPointer(mutableStart).assumingMemoryBound(to: lk_hmac.self)
    }
}

private func digest(_ compute: (UnsafeMutablePointer<UInt8>?) -> Void) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
        unsafe compute(buffer.baseAddress)
        filled = 32
    }
}
