import Crypto

/// The keys of all four classes, as unlocking yields them, on their way into a `KeyRing`.
public struct ClassKeys: ~Copyable, Sendable {
    let complete: Secret
    let completeUnlessOpenPrivate: X25519.PrivateKey
    let completeUntilFirstUserAuthentication: Secret
    let none: Secret
}

/// What every slot wraps: 192 bytes, six keys of 32.
struct Bundle: ~Copyable {
    static let byteCount = 192

    let bytes: Secret

    init(_ bytes: consuming Secret) {
        precondition(bytes.count == Self.byteCount)
        self.bytes = bytes
    }

    /// Keys of a new vault. An X25519 private key is 32 random bytes like the others.
    static func generated() throws(CryptoError) -> Bundle {
        Bundle(try Secret(random: byteCount))
    }

    func privateKeyB() throws(CryptoError) -> Secret { try bytes.slice(32..<64) }
    func classKeyD() throws(CryptoError) -> Secret { try bytes.slice(96..<128) }
    func volumeKey() throws(CryptoError) -> Secret { try bytes.slice(128..<160) }
    func unlockMACKey() throws(CryptoError) -> Secret { try bytes.slice(160..<192) }

    func classKeys() throws(CryptoError) -> ClassKeys {
        ClassKeys(
            complete: try bytes.slice(0..<32), completeUnlessOpenPrivate: try X25519.PrivateKey(privateKeyB()),
            completeUntilFirstUserAuthentication: try bytes.slice(64..<96), none: try classKeyD())
    }
}
