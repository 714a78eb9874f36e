// The same operations for bytes in arrays: names, labels, ciphertext. For the compiler, lending an array's bytes is an
// unsafe expression; these methods keep it away from their callers. No array ever holds secret bytes.

extension DeterministicCipher {
    public func seal(_ plain: [UInt8], associatedData a: [UInt8]) throws(CryptoError) -> [UInt8] {
        try unsafe seal(plain.span.bytes, associatedData: a.span.bytes)
    }

    public func seal(_ plain: [UInt8], associatedData a: [UInt8], _ b: [UInt8]) throws(CryptoError) -> [UInt8] {
        try unsafe seal(plain.span.bytes, associatedData: a.span.bytes, b.span.bytes)
    }

    public func seal(
        _ plain: [UInt8], associatedData a: [UInt8], _ b: [UInt8], _ c: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        try unsafe seal(plain.span.bytes, associatedData: a.span.bytes, b.span.bytes, c.span.bytes)
    }

    public func open(_ sealed: [UInt8], associatedData a: [UInt8]) throws(CryptoError) -> [UInt8] {
        try unsafe open(sealed.span.bytes, associatedData: a.span.bytes)
    }

    public func open(_ sealed: [UInt8], associatedData a: [UInt8], _ b: [UInt8]) throws(CryptoError) -> [UInt8] {
        try unsafe open(sealed.span.bytes, associatedData: a.span.bytes, b.span.bytes)
    }

    public func open(
        _ sealed: [UInt8], associatedData a: [UInt8], _ b: [UInt8], _ c: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        try unsafe open(sealed.span.bytes, associatedData: a.span.bytes, b.span.bytes, c.span.bytes)
    }
}

extension MessageAuthenticator {
    public func tag(of message: [UInt8]) -> [UInt8] {
        unsafe tag(of: message.span.bytes)
    }

    public func tag(of a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        unsafe tag(of: a.span.bytes, b.span.bytes)
    }

    public func secretTag(of a: [UInt8], _ b: [UInt8] = []) throws(CryptoError) -> Secret {
        try unsafe secretTag(of: a.span.bytes, b.span.bytes)
    }

    public func verify(_ tag: [UInt8], of message: [UInt8]) -> Bool {
        unsafe verify(tag.span.bytes, of: message.span.bytes)
    }
}

public func sha256(_ bytes: [UInt8]) -> [UInt8] {
    unsafe sha256(bytes.span.bytes)
}

extension KeyDerivation {
    public static func hkdf(
        _ key: borrowing Secret, salt: [UInt8], info: [UInt8], count: Int
    ) throws(CryptoError) -> Secret {
        try unsafe hkdf(key, salt: salt.span.bytes, info: info.span.bytes, count: count)
    }

    public static func hkdf(
        _ key: borrowing Secret, salt: borrowing Secret, info: [UInt8], count: Int
    ) throws(CryptoError) -> Secret {
        try unsafe hkdf(key, salt: salt, info: info.span.bytes, count: count)
    }
}

extension KeyWrap {
    public static func unwrap(_ wrapped: [UInt8], under wrappingKey: borrowing Secret) throws(CryptoError) -> Secret {
        try unsafe unwrap(wrapped.span.bytes, under: wrappingKey)
    }
}

extension X25519 {
    public static func agree(_ privateKey: borrowing Secret, _ publicKey: [UInt8]) throws(CryptoError) -> Secret {
        try unsafe agree(privateKey, publicKey.span.bytes)
    }
}

extension X25519.PrivateKey {
    public func agree(_ publicKey: [UInt8]) throws(CryptoError) -> Secret {
        try unsafe agree(publicKey.span.bytes)
    }
}
